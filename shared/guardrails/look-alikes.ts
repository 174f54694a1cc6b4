/**
 * Maps each look-alike to its basic Latin letter, in lower case. Capitals and small letters are listed separately because they
 * can look like different letters: Greek Ν looks like N, but ν like v. Texts are in NFKC before they are looked up, so a letter
 * that NFKC replaces would never be found here. It replaces the lunate sigmas, which look like c, by ς and Σ, and the micro
 * sign by μ.
 */
const LOOK_ALIKES: Readonly<Record<string, string>> = {
  a: "αΑаАɑ",
  b: "βΒвВ",
  c: "ςΣсС",
  d: "ԁԀ",
  e: "εΕеЕєЄ",
  g: "ɡ",
  h: "ΗһҺнН",
  i: "ιΙіІıİɩ",
  j: "јЈϳͿ",
  k: "κΚкК",
  l: "ӏӀ",
  m: "ΜмМ",
  n: "ηΝпП",
  o: "οΟоОσ",
  p: "ρΡрР",
  q: "ԛԚ",
  r: "гГ",
  s: "ѕЅ",
  t: "τΤтТ",
  u: "υμ",
  v: "νѵѴ",
  w: "ωԝԜѡѠ",
  x: "χΧхХ",
  y: "γΥуУүҮ",
  z: "ζΖ",
};

/** From look-alike to basic Latin letter. Keys and values are UTF-16 code units. */
export const LATIN_OF: ReadonlyMap<number, number> = new Map(
  Object.entries(LOOK_ALIKES).flatMap(([latin, letters]) =>
    Array.from(letters, (letter) => [letter.charCodeAt(0), latin.charCodeAt(0)] as const),
  ),
);
