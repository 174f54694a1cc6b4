/** The length of texts in Unicode code points. */

const HIGH_SURROGATE = /[\ud800-\udbff]/;

/** Code points of a text. */
export function countCodePoints(text: string): number {
  // Most texts contain no character of two units: the engine finds that out without looking at each one.
  const first = text.search(HIGH_SURROGATE);
  if (first === -1) return text.length;
  let count = first;
  for (let at = first; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit >= 0xd800 && unit <= 0xdbff && at + 1 < text.length) {
      const next = text.charCodeAt(at + 1);
      if (next >= 0xdc00 && next <= 0xdfff) at += 1;
    }
    count += 1;
  }
  return count;
}
