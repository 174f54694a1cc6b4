import { expect, it } from "vitest";
import { changelogSection, releasedChangelog, releaseNotes } from "./changelog.ts";

const TEXT = "# Changelog\n\nNewest first.\n\n## Unreleased\n\n- New.\n- Newer.\n\n## 1.0.0\n\n- Old.\n";

it("gives the entries of Unreleased to the new version", () => {
  const released = releasedChangelog(TEXT, "1.1.0");
  expect(changelogSection(released, "1.1.0")).toBe("- New.\n- Newer.");
  expect(changelogSection(released, "Unreleased")).toBe("");
  expect(changelogSection(released, "1.0.0")).toBe("- Old.");
  expect(released.startsWith("# Changelog\n\nNewest first.\n\n## Unreleased\n\n## 1.1.0\n\n- New.\n")).toBe(true);
});

it.each([
  ["without an entry", TEXT.replace("- New.\n- Newer.\n", ""), "1.1.0", /has no entry/],
  ["without the section", TEXT.replace("## Unreleased", "## 1.0.1"), "1.1.0", /has no entry/],
  ["of a version that is released", TEXT, "1.0.0", /section 1\.0\.0 already/],
])("refuses a release %s", (_, text, version, message) => {
  expect(() => releasedChangelog(text, version)).toThrow(message);
});

it("publishes the entries of the version that is tagged", () => {
  expect(releaseNotes(TEXT, "1.0.0", "v1.0.0")).toBe("- Old.");
});

it.each([
  ["of another version", TEXT, "v1.0.1", /tag is v1\.0\.1, and the version in package\.json 1\.0\.0/],
  ["without an entry", TEXT.replace("- Old.\n", ""), "v1.0.0", /"1\.0\.0" has no entry/],
  ["without a section", TEXT.replace("## 1.0.0", "## 0.9.0"), "v1.0.0", /"1\.0\.0" has no entry/],
])("refuses to publish a tag %s", (_, text, tag, message) => {
  expect(() => releaseNotes(text, "1.0.0", tag)).toThrow(message);
});
