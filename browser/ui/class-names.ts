/** The class names that hold, as one attribute. */
export function classNames(...names: readonly (string | false | null | undefined)[]): string {
  return names.filter((name) => name !== false && name !== null && name !== undefined && name !== "").join(" ");
}
