/** The files that a release leaves for the tests of later versions, from the root of the repository. */

/** What the Worker of the last release is; `npm run release:bundle` writes it. */
export const RELEASED_WORKER_FACTS = "test/fixtures/released-worker.json";

/** The data folder of a released version, from the root of the repository; `npm run fixture:data-folder` makes it. */
export function dataFolderFixture(version: string): string {
  return `test/fixtures/data-folder-${version}.tar.br`;
}
