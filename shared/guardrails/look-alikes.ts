/** Greek, Cyrillic and some Latin letters, each under the basic Latin letter that it looks like. */
const LOOK_ALIKES: Readonly<Record<string, string>> = {
  a: "αΑаАɑ",
  b: "βΒвВ",
  c: "ϲϹсС",
  d: "ԁԀ",
  e: "εΕеЕєЄ",
  g: "ɡ",
  h: "ΗһҺнН",
  i: "ιΙіІıİɩ",
  j: "јЈϳ",
  k: "κΚкК",
  l: "ӏӀ",
  m: "Μмµ\u041c",
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

/**
 * The basic Latin letter, in lower case, by each letter that looks like it. Capitals are listed apart from their small
 * letters, because some of them look like another letter: the Greek Ν like N, ν like v.
 */
export const LATIN_OF: ReadonlyMap<number, number> = new Map(
  Object.entries(LOOK_ALIKES).flatMap(([latin, letters]) =>
    [...letters].map((letter) => [letter.charCodeAt(0), latin.charCodeAt(0)] as const),
  ),
);
