/**
 * The counters of a Cell start at 0 with each of its lives, and have every row and event of that life once
 * (docs/rules/metrics.md#lives): so what a scraper adds up is never more than what happened.
 *
 * @module-tag check
 */
import { abortAllDurableObjects, env } from "cloudflare:test";
import fc from "fast-check";
import { expect, it } from "vitest";
import type { CellObject } from "../../edge/objects/cell/cell.ts";
import type { LedgerObject } from "../../edge/objects/ledger/ledger.ts";
import { IncreasesOverLives } from "../harness/increases.ts";
import { rowFor } from "./admission-messages.ts";

const { CELL, LEDGER } = env as unknown as {
  CELL: DurableObjectNamespace<CellObject>;
  LEDGER: DurableObjectNamespace<LedgerObject>;
};

/** `cell`, `ledger`: who takes the row of a request. */
const STEPS = ["cell", "ledger", "event", "scrape", "crash"] as const;

it("counts each row and event once, from 0 in each life, and adds up to no more than happened", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...STEPS), { minLength: 5, maxLength: 25 }), async (steps) => {
      const name = crypto.randomUUID();
      const happened = { requests: 0, events: 0 };
      /** What the present life of the Cell has to show, and what waits in the Ledger for whichever life asks for it. */
      const life = { requests: 0, events: 0 };
      let inLedger = 0;
      const sums = new IncreasesOverLives();
      const scrape = async (): Promise<void> => {
        const { families } = await CELL.getByName(name).metrics();
        const samples = families.flatMap(({ name: metric, samples: all }) =>
          all.map(
            ({ suffix, labels, value }) => [[metric + suffix, ...Object.values(labels)].join(" "), value] as const,
          ),
        );
        for (const [series, value] of samples) sums.sample(series, value);
        life.requests += inLedger;
        inLedger = 0;
        const shown = new Map(samples);
        expect({
          requests: shown.get("gateway_requests_total fast 2xx"),
          tokens: shown.get("gateway_input_tokens_total"),
          times: shown.get("gateway_total_ms_count"),
          attempts: shown.get("gateway_upstream_attempts_total success"),
          events: shown.get("gateway_jwt_verify_total ok"),
        }).toEqual({
          requests: life.requests,
          tokens: 3 * life.requests,
          times: life.requests,
          attempts: life.requests,
          events: life.events,
        });
      };
      const row = () =>
        rowFor(crypto.randomUUID(), { cell: name, admission: "fast", status_code: 200, input_tokens: 3 });
      const run: Readonly<Record<(typeof STEPS)[number], () => Promise<void>>> = {
        cell: async () => {
          await CELL.getByName(name).record(row(), { success: 1 });
          happened.requests += 1;
          life.requests += 1;
        },
        ledger: async () => {
          await LEDGER.getByName(`${name}:0`).appendOrphan(row(), { success: 1 });
          happened.requests += 1;
          inLedger += 1;
        },
        event: async () => {
          await CELL.getByName(name).tally([{ metric: "gateway_jwt_verify_total", labels: ["ok"], times: 1 }]);
          happened.events += 1;
          life.events += 1;
        },
        scrape,
        crash: async () => {
          await abortAllDurableObjects();
          Object.assign(life, { requests: 0, events: 0 });
        },
      };
      await scrape();
      for (const step of steps) await run[step]();
      await scrape();
      expect(sums.of("gateway_requests_total fast 2xx")).toBeLessThanOrEqual(happened.requests);
      expect(sums.of("gateway_jwt_verify_total ok")).toBeLessThanOrEqual(happened.events);
    }),
    { numRuns: 20 },
  );
});
