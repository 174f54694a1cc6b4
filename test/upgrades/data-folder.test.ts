/**
 * Data folders of released versions (docs/recover.md#upgrade-one-machine): today's version continues where the old one stopped, and the
 * old Worker continues after today's.
 */
import { globSync } from "node:fs";
import { basename, join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { startTestUpstream, type TestUpstream } from "../harness/test-upstream.ts";
import { Unpacked } from "./unpacked.ts";

const FIXTURES = globSync("test/fixtures/data-folder-*.tar.br", { cwd: join(import.meta.dirname, "../..") });

let upstream: TestUpstream;
let folder: Unpacked | undefined;

beforeAll(async () => {
  upstream = await startTestUpstream();
});
afterAll(async () => await upstream.close());
afterEach(async () => await folder?.remove());

it("there is one of each released version that is tested", () => {
  expect(FIXTURES.length).toBeGreaterThan(0);
});

describe.each(FIXTURES)("%s", (fixture) => {
  it("continues with this version, and then with the Worker of its own", async () => {
    const old = new Unpacked(fixture);
    folder = old;
    const { version, requestIds, usedTokens, disabledSecret } = old.contents;
    expect(basename(fixture)).toBe(`data-folder-${version}.tar.br`);

    const today = await old.start();
    expect(await old.tokensOf(today, requestIds)).toBe(usedTokens);
    await old.budgetIs(today, usedTokens);
    expect((await old.ask(today, disabledSecret))[0]).toBe(403);
    await old.moveUpstream(today, upstream.url);
    const first = [...requestIds, ...(await old.serve(today, 4))];
    await old.budgetIs(today, await old.tokensOf(today, first));
    await old.stop();

    const back = await old.start(old.ownWorker);
    expect((await old.ask(back, disabledSecret))[0]).toBe(403);
    const second = [...first, ...(await old.serve(back, 4))];
    await old.budgetIs(back, await old.tokensOf(back, second));
    await old.stop();

    const again = await old.start();
    const third = [...second, ...(await old.serve(again, 2))];
    await old.budgetIs(again, await old.tokensOf(again, third));
  });
});
