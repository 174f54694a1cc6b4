/**
 * What a release does with the changelog: the entries of "Unreleased" become the section of the new version, and its text. Pure.
 */

const UNRELEASED = "Unreleased";

/** The entries of a section, trimmed; undefined: there is no such section. `heading` is a version, or `Unreleased`. */
export function changelogSection(text: string, heading: string): string | undefined {
  return sectionsOf(text)
    .find((section) => section.heading === heading)
    ?.body.trim();
}

/**
 * The changelog with the entries of "Unreleased" under `version`, and an "Unreleased" without entries before it. Throws when
 * there is nothing to release, or when the version has a section already.
 */
export function releasedChangelog(text: string, version: string): string {
  const entries = changelogSection(text, UNRELEASED);
  if (entries === undefined || entries === "")
    throw new Error(`CHANGELOG.md: the section "${UNRELEASED}" has no entry; say there what changes for users`);
  if (changelogSection(text, version) !== undefined)
    throw new Error(`CHANGELOG.md: there is a section ${version} already; choose the next version`);
  return text.replace(new RegExp(`^## ${UNRELEASED}$`, "m"), `## ${UNRELEASED}\n\n## ${version}`);
}

/**
 * The text of the release with a tag: the entries of its version. Throws if the tag belongs to another version, or there are no
 * entries.
 */
export function releaseNotes(text: string, version: string, tag: string): string {
  if (tag !== `v${version}`) throw new Error(`the tag is ${tag}, and the version in package.json ${version}`);
  const entries = changelogSection(text, version);
  if (entries === undefined || entries === "") throw new Error(`CHANGELOG.md: the section "${version}" has no entry`);
  return entries;
}

function sectionsOf(text: string): readonly { readonly heading: string; readonly body: string }[] {
  return text
    .split(/^## /m)
    .slice(1)
    .map((part) => {
      const end = `${part}\n`.indexOf("\n");
      return { heading: part.slice(0, end).trim(), body: part.slice(end) };
    });
}
