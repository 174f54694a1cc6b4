/**
 * The texts of the console. Each room has its English texts in `messages/en/<room>.ts`: identifier -> template. Another language
 * is one more file `messages/<language>.json` ({room: {identifier: template}}) and needs no code; what it lacks is English.
 *
 * A template has `{name}` for a value, and `{count, plural, one {# request} other {# requests}}` for what depends on a number;
 * `#` is the number, with the categories of CLDR's plural rules.
 */

type Catalogue = Readonly<Record<string, string>>;
type Values = Readonly<Record<string, string | number>>;
type Translations = Readonly<Record<string, Catalogue>>;

let language = "en";
let translations: Translations = {};

/** Sets the language of everything that is drawn from now on. */
export function setLanguage(name: string, texts: Translations): void {
  language = name;
  translations = texts;
}

/** The texts of a room: a function from identifier and values to text. */
export function texts<C extends Catalogue>(
  room: string,
  english: C,
): (id: keyof C & string, values?: Values) => string {
  return (id, values = {}) => fill(translations[room]?.[id] ?? english[id] ?? id, values, language);
}

const PLURAL = /\{(\w+), plural, ((?:\w+ \{[^{}]*\} ?)+)\}/g;
const CASE = /(\w+) \{([^{}]*)\}/g;
const VALUE = /\{(\w+)\}/g;

/** A template with its values put in; a value that is missing leaves its name, so that it is noticed. */
export function fill(template: string, values: Values, locale: string): string {
  const withPlurals = template.replace(PLURAL, (_, name: string, cases: string) => {
    const count = Number(values[name]);
    const category = new Intl.PluralRules(locale).select(Number.isFinite(count) ? count : 0);
    const forms = new Map(Array.from(cases.matchAll(CASE), ([, form, text]) => [form, text]));
    const shown = Number.isFinite(count) ? new Intl.NumberFormat(locale).format(count) : "–";
    return (forms.get(category) ?? forms.get("other") ?? "").replaceAll("#", shown);
  });
  return withPlurals.replace(VALUE, (whole, name: string) =>
    Object.hasOwn(values, name) ? String(values[name]) : whole,
  );
}
