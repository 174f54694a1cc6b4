/**
 * A Worker that serves several cells sends each request to the cell that it belongs to
 * (docs/rules/configuration.md#cells).
 */
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import type { Bindings } from "../../edge/bindings.ts";
import { internal } from "../../edge/routes/internal.ts";
import { CELL_HEADER, INTERNAL_PATHS } from "../../shared/wire/internal.ts";

// Test files share an isolate, which keeps the parts that it has made of the first file's variables.
vi.resetModules();
const { depsOf } = await import("../../edge/deps.ts");

const url = "https://gateway.example";
const bindings = {
  ...(env as unknown as Bindings),
  GATEWAY_CELL: "cells-own",
  GATEWAY_INTERNAL_TOKEN: "internal",
  GATEWAY_CELLS: JSON.stringify([
    { cell: "cells-eu", url, hint: "weur", continents: ["EU"] },
    { cell: "cells-own", url, hint: "enam", colos: ["IAD"] },
  ]),
};

it("chooses the cell by the address at which a request arrived", () => {
  const cellOf = (cf?: object): string =>
    depsOf(bindings, new Request(url, cf === undefined ? {} : { cf: cf as CfProperties })).ports.admission.cell;
  expect({
    europe: cellOf({ colo: "FRA", continent: "EU" }),
    america: cellOf({ colo: "IAD", continent: "NA" }),
    asia: cellOf({ colo: "SIN", continent: "AS" }),
    unknown: cellOf(),
  }).toEqual({ europe: "cells-eu", america: "cells-own", asia: "cells-own", unknown: "cells-own" });
});

it("calls the cell that an internal request names, at any address, and refuses unknown cells", async () => {
  const stats = async (named?: string): Promise<readonly unknown[]> => {
    const headers = { authorization: "Bearer internal", ...(named === undefined ? {} : { [CELL_HEADER]: named }) };
    const request = new Request(`${url}${INTERNAL_PATHS.stats}`, { headers, cf: { colo: "FRA", continent: "EU" } });
    const response = await internal(depsOf(bindings, request), request);
    const body = (await response.json()) as { cell?: string };
    return [response.status, body.cell ?? null];
  };
  expect({
    europe: await stats("cells-eu"),
    own: await stats("cells-own"),
    unnamed: await stats(),
    unknown: await stats("cells-none"),
  }).toEqual({ europe: [200, "cells-eu"], own: [200, "cells-own"], unnamed: [200, "cells-own"], unknown: [404, null] });
});
