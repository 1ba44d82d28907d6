// Asking the server: the key, waiting where it is busy, and what its refusals mean.

const KEY = "regard.key";
const PATIENCE = 3; // times that a busy server is asked again

/** Why there is no answer: a status (0: no server), and its sentence. */
export class Refusal extends Error {
  constructor(status, sentence = "", seconds = 0) {
    super(sentence);
    Object.assign(this, { status, sentence, seconds });
  }
}

let kept = ""; // the key, where the browser lets a page keep nothing

export const key = {
  get() {
    try {
      return sessionStorage.getItem(KEY) ?? kept;
    } catch {
      return kept;
    }
  },
  set(value) {
    kept = value;
    try {
      if (value) sessionStorage.setItem(KEY, value);
      else sessionStorage.removeItem(KEY);
    } catch {
      // it is kept until the page is left
    }
  },
};

const pause = (seconds, signal) => new Promise((resolve, reject) => {
  const timer = setTimeout(resolve, 1000 * seconds);
  signal?.addEventListener("abort", () => { clearTimeout(timer); reject(signal.reason); }, { once: true });
});

async function answered(path, options) {
  let response;
  try {
    response = await fetch(path, options);
    if (response.ok) return await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(0); // no answer, or half of one
  }
  const body = await response.json().catch(() => ({}));
  const seconds = Math.min(60, Number(response.headers.get("Retry-After")) || 0);
  throw new Refusal(response.status, typeof body.error === "string" ? body.error : "", seconds);
}

export const get = (path) => answered(path, { cache: "no-cache" });

/** The answer to a question; a busy server is asked again when it says so, `onWait` is told. */
export async function ask(path, fields, { signal, onWait = () => {} } = {}) {
  const named = key.get() ? { ...fields, api_key: key.get() } : fields;
  const options = { method: "POST", signal, headers: { "Content-Type": "application/json" }, body: JSON.stringify(named) };
  for (let turn = 1; ; turn++) {
    try {
      return await answered(path, options);
    } catch (error) {
      const busy = error instanceof Refusal && (error.status === 503 || error.status === 429) && error.seconds;
      if (!busy || turn > PATIENCE) throw error;
      onWait(error);
      await pause(error.seconds, signal);
    }
  }
}

/** Where the translation of a file can be fetched. */
export async function askFile(file, source, target) {
  const form = new FormData();
  form.set("source", source);
  form.set("target", target);
  if (key.get()) form.set("api_key", key.get());
  form.set("file", file);
  const { translatedFileUrl } = await answered("translate_file", { method: "POST", body: form });
  // the server may be known by another name here, behind a proxy: only the path is taken
  return new URL(translatedFileUrl).pathname.replace(/^.*\/download_file\//, "download_file/");
}
