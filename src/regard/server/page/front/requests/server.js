// Requests to the server: the key, repeating when it is busy, and errors.

const KEY = "regard.key";
const MAX_RETRIES = 3; // times that a request to a busy server is repeated

/** An error: a status (0: no server) and its sentence. */
export class ServerError extends Error {
  constructor(status, sentence = "", seconds = 0) {
    super(sentence);
    Object.assign(this, { status, sentence, seconds });
  }
}

let storedKey = ""; // the key, where the browser has no storage

export const key = {
  get() {
    try {
      return sessionStorage.getItem(KEY) ?? storedKey;
    } catch {
      return storedKey;
    }
  },
  set(value) {
    storedKey = value;
    try {
      if (value) sessionStorage.setItem(KEY, value);
      else sessionStorage.removeItem(KEY);
    } catch {
      // it is kept until the page is closed
    }
  },
};

const sleep = (seconds, signal) => new Promise((resolve, reject) => {
  const timer = setTimeout(resolve, 1000 * seconds);
  signal?.addEventListener("abort", () => { clearTimeout(timer); reject(signal.reason); }, { once: true });
});

async function fetchJson(path, options) {
  let response;
  try {
    response = await fetch(path, options);
    if (response.ok) return await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServerError(0); // no response, or half of one
  }
  const body = await response.json().catch(() => ({}));
  const seconds = Math.min(60, Number(response.headers.get("Retry-After")) || 0);
  throw new ServerError(response.status, typeof body.error === "string" ? body.error : "", seconds);
}

export const get = (path) => fetchJson(path, { cache: "no-cache" });

/** The response to a request; it is repeated when a busy server says so, after `onWait`. */
export async function post(path, fields, { signal, onWait = () => {} } = {}) {
  const named = key.get() ? { ...fields, api_key: key.get() } : fields;
  const options = { method: "POST", signal, headers: { "Content-Type": "application/json" }, body: JSON.stringify(named) };
  for (let turn = 1; ; turn++) {
    try {
      return await fetchJson(path, options);
    } catch (error) {
      const busy = error instanceof ServerError && (error.status === 503 || error.status === 429) && error.seconds;
      if (!busy || turn > MAX_RETRIES) throw error;
      onWait(error);
      await sleep(error.seconds, signal);
    }
  }
}

/** The path where the translation of a file can be downloaded. */
export async function postFile(file, source, target) {
  const form = new FormData();
  form.set("source", source);
  form.set("target", target);
  if (key.get()) form.set("api_key", key.get());
  form.set("file", file);
  const { translatedFileUrl } = await fetchJson("translate_file", { method: "POST", body: form });
  // behind a proxy the server's address may differ: only the path is used
  return new URL(translatedFileUrl).pathname.replace(/^.*\/download_file\//, "download_file/");
}
