/**
 * Each cell as the control service reaches it: whether it answers, its clock, and whether what holds slots stays within
 * what was declared for the cell, for tenants and for models. A cap that was lowered ends no running request, so more
 * may be held for a while.
 */
import { z } from "zod";
import type { GatewayClient } from "../../api/client/client.ts";
import { gatewayClient } from "../../api/client/client.ts";
import { fetchLimited, shaped } from "./answers.ts";
import { clockFromInstant } from "./clocks.ts";
import type { Examination } from "./examination.ts";
import { type Examined, findingsOf, type LinkedFinding } from "./finding.ts";

interface CellAccess {
  readonly url: string;
  readonly token: string;
  /** Undefined: nobody told the doctor. */
  readonly declaredSlots: number | undefined;
  /** Parts that explain a cell which does not answer. */
  readonly behind: readonly string[];
}

const count = z.number().nonnegative();
const cellsAnswer = z.object({ cells: z.array(z.string()).max(1000) });
const liveAnswer = z.object({
  ts_ms: z.number(),
  max_in_flight: count,
  global_in_flight: count,
  global_queued: count,
  model_in_flight: z.record(z.string(), count),
  tenants: z.array(z.object({ name: z.string(), in_flight: count, max_in_flight: count.nullable() })),
});
type Live = z.infer<typeof liveAnswer>;
const modelsAnswer = z.array(z.object({ model_name: z.string(), max_in_flight: count.nullish() }));
/** Pages of 1,000 models that are read: a list without end is not the gateway's. */
const PAGES_MAX = 100;

const LOWERED =
  "lowering a cap stops no running request: check again when they have finished, then report it as a defect";

/** All cells that the control service knows. Finds nothing where the Management API does not answer or refuses. */
export function cellExamination({ url, token, declaredSlots, behind }: CellAccess): Examination {
  return {
    part: "cells",
    run: async (signal) => {
      const client = gatewayClient({ url, token, actor: "cli", fetch: fetchLimited });
      const about = await client.GET("/api/v1/about", { signal }).catch(() => null);
      // what it says of itself is checked where it is examined
      const cells = cellsAnswer.safeParse(about?.data).data?.cells ?? [];
      const examined = await Promise.all(
        cells.map(async (cell) => await examineCell(client, cell, { declaredSlots, behind }, signal)),
      );
      return {
        findings: examined.flatMap(({ findings }) => findings),
        clocks: examined.flatMap(({ clocks = [] }) => clocks),
      };
    },
  };
}

async function examineCell(
  client: GatewayClient,
  cell: string,
  { declaredSlots, behind }: Pick<CellAccess, "declaredSlots" | "behind">,
  signal: AbortSignal,
): Promise<Examined> {
  const part = `cell ${cell}`;
  const { ok, failure } = findingsOf(part);
  const sentMs = Date.now();
  const answer = await client.GET("/api/v1/fairshare/live", { signal, params: { query: { cell } } }).catch(() => null);
  const gotMs = Date.now();
  if (answer?.data === undefined) {
    const fix =
      "check GATEWAY_EDGE_BASE_URL or GATEWAY_CELLS of the control service, GATEWAY_INTERNAL_TOKEN, the Worker";
    const links = { cause: part, symptomOf: behind };
    return { findings: [failure("cell", "does not answer the control service", fix, links)] };
  }
  const live = shaped(liveAnswer, answer.data);
  const models = Object.keys(live.model_in_flight).length === 0 ? [] : await modelCaps(client, signal);
  return {
    findings: [
      ok("cell", `answers the control service; ${live.global_queued} requests wait`),
      ...capFindings(part, live, models, declaredSlots),
    ],
    clocks: [clockFromInstant(part, live.ts_ms, sentMs, gotMs)],
  };
}

type ModelCap = z.infer<typeof modelsAnswer>[number];

async function modelCaps(client: GatewayClient, signal: AbortSignal): Promise<readonly ModelCap[]> {
  const models: ModelCap[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const query = { limit: "1000", ...(cursor === undefined ? {} : { cursor }) };
    const { data = [], response } = await client.GET("/api/v1/models", { signal, params: { query } });
    models.push(...shaped(modelsAnswer.max(1000), data));
    cursor = /[?&]cursor=([\w.~-]{1,500})/.exec(response.headers.get("link") ?? "")?.[1];
    if (cursor === undefined) break;
  }
  return models;
}

/** Compares what is held with what is declared. */
export function capFindings(
  part: string,
  live: Pick<Live, "max_in_flight" | "global_in_flight" | "model_in_flight" | "tenants">,
  models: readonly ModelCap[],
  declaredSlots: number | undefined,
): readonly LinkedFinding[] {
  const { ok, warning } = findingsOf(part);
  const held = [
    { what: "the cell", inFlight: live.global_in_flight, cap: live.max_in_flight },
    ...live.tenants.map(({ name, in_flight, max_in_flight }) => ({
      what: `tenant ${name}`,
      inFlight: in_flight,
      cap: max_in_flight,
    })),
    ...models.map(({ model_name, max_in_flight }) => ({
      what: `model ${model_name}`,
      inFlight: live.model_in_flight[model_name] ?? 0,
      cap: max_in_flight ?? null,
    })),
  ];
  const over = held.flatMap(({ what, inFlight, cap }) =>
    cap !== null && inFlight > cap ? [warning("cap", `${what} holds ${inFlight} slots of ${cap}`, LOWERED)] : [],
  );
  const within = `${live.global_in_flight} of ${live.max_in_flight} slots are held; no cap is exceeded`;
  return [
    ...(over.length === 0 ? [ok("cap", within)] : over),
    ...(declaredSlots === undefined || declaredSlots === live.max_in_flight
      ? []
      : [
          warning(
            "cap",
            `has ${live.max_in_flight} slots, GATEWAY_GLOBAL_MAX_IN_FLIGHT says ${declaredSlots}`,
            'PUT /api/v1/capacity with {"max_in_flight":null} returns to the variable of the Worker',
          ),
        ]),
  ];
}
