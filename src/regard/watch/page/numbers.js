// Numbers and times as the page writes them.

const locale = () => (window.regard.language === "zh" ? "zh-CN" : "en-GB");

/** A number with a fixed count of digits, in the language of the page. */
export const decimal = (value, digits) =>
  value.toLocaleString(locale(), { minimumFractionDigits: digits, maximumFractionDigits: digits });

export const whole = (value) => Math.round(value).toLocaleString(locale());

/** Seconds as hours, minutes and seconds. */
export function clock(seconds) {
  const all = Math.max(0, Math.round(seconds)), pad = (number) => String(number).padStart(2, "0");
  const [hours, minutes, rest] = [Math.floor(all / 3600), Math.floor(all / 60) % 60, all % 60];
  return hours ? `${hours}:${pad(minutes)}:${pad(rest)}` : `${minutes}:${pad(rest)}`;
}

/** A learning rate, as 1.2e-3. */
export function rate(value) {
  if (!(value > 0)) return "0";
  const [digits, power] = value.toExponential(1).split("e");
  return `${digits.replace(/\.0$/, "")}e${Number(power)}`;
}

export const bytes = (value) => (value >= 1e9 ? `${decimal(value / 1e9, value >= 1e10 ? 0 : 1)} GB` : `${whole(value / 1e6)} MB`);

export const percent = (share) => `${decimal(100 * share, 1)} %`;

/** Round numbers that divide a range into about `count` parts; `bases` are the steps allowed within a power of ten. */
export function ticks(low, high, count, bases = [1, 2, 5, 10]) {
  const raw = (high - low) / Math.max(1, count), power = 10 ** Math.floor(Math.log10(raw));
  const step = power * (bases.find((base) => base * power >= raw * 0.999) ?? 10);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at++) found.push(at * step || 0); // not -0
  return found;
}

const TIMES = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
/** Times that divide a range into about `count` parts. */
export function timeTicks(low, high, count) {
  const raw = (high - low) / Math.max(1, count), step = TIMES.find((time) => time >= raw) ?? 86400 * Math.ceil(raw / 86400);
  const found = [];
  for (let at = Math.ceil(low / step); at * step <= high; at++) found.push(at * step || 0);
  return found;
}
