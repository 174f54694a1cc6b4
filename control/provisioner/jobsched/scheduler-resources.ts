/**
 * What the batch job scheduler offers, for the form of a managed model: partitions, nodes, accounts and quality-of-service
 * names (docs/rules/managed-models.md#resources). The answer of one minute is shared. A scheduler without accounting has no
 * associations; then there are no accounts to choose from, and that is no failure.
 */
import { z } from "zod";
import { unseal } from "../../../shared/crypto/seal.ts";
import { GatewayError } from "../../../shared/errors.ts";
import { INFRASTRUCTURE_POLICY } from "../../../shared/network/ssrf.ts";
import type { SchedulerResources } from "../../../shared/schema/settings/jobsched.ts";
import type { VerbContext } from "../../kernel/context.ts";
import { fetchJson, OutboundError } from "../../kernel/outbound/bounded-fetch.ts";
import { jobschedSetting } from "../../kernel/settings/definitions.ts";
import { readSetting } from "../../kernel/settings/setting.ts";
import { type SchedulerAccess, schedulerHeaders } from "./scheduler-ping.ts";

const TIMEOUT_MS = 10_000;
const KEPT_MS = 60_000;
/** Some 10,000 nodes, at 3 KB each. */
const ANSWER_MAX_BYTES = 32 * 1024 * 1024;

const text = z.string().catch("");
const count = z.number().int().nonnegative();

/** A state is a list of words from 0.0.40 on, and was one word before. */
const state = z.union([z.string(), z.array(z.string()).transform((words) => words.join("+"))]).catch("");

/** A number that may be unset: bare, or as `{set, infinite, number}`; 0 where it is neither. */
const settable = z
  .union([count, z.object({ set: z.literal(true), number: count }).transform(({ number }) => number)])
  .catch(0);

/** The entries of a list that can be read; others are left out, so that one odd entry does not hide the rest. */
const listOf = <T>(entry: z.ZodType<T>) =>
  z.array(z.unknown()).transform((entries) =>
    entries.flatMap((value) => {
      const read = entry.safeParse(value);
      return read.success ? [read.data] : [];
    }),
  );

const partitionsSchema = z.object({
  partitions: listOf(
    z
      .object({
        name: z.string(),
        nodes: z.object({ total: settable }).catch({ total: 0 }),
        partition: z.object({ state }).catch({ state: "" }),
      })
      .transform(({ name, nodes, partition }) => ({ name, nodes: nodes.total, state: partition.state })),
  ),
});

const nodesSchema = z.object({
  nodes: listOf(
    z
      .object({ name: z.string(), gres: text, cpus: settable, real_memory: settable, state })
      .transform(({ real_memory, ...node }) => ({ ...node, memory_mb: real_memory })),
  ),
});

const associationsSchema = z.object({
  associations: listOf(z.object({ account: text, qos: z.array(z.string()).catch([]) })),
});

type Associations = z.infer<typeof associationsSchema>["associations"];

export class SchedulerOffers {
  #kept: { readonly of: string; readonly atMs: number; readonly answer: Promise<SchedulerResources> } | null = null;

  /** Throws 400 `jobsched_not_configured`, and 502 `jobsched_unreachable`. */
  async read(ctx: VerbContext): Promise<SchedulerResources> {
    const { url, api_version, user, token } = (await readSetting(ctx, jobschedSetting)).value;
    if (url === "") throw new GatewayError("jobsched_not_configured");
    const of = JSON.stringify([url, api_version, user, token]);
    const nowMs = ctx.now().getTime();
    const kept = this.#kept;
    if (kept !== null && kept.of === of && Math.abs(nowMs - kept.atMs) < KEPT_MS) return await kept.answer;
    const secret = token === null ? null : await unseal(token, ctx.sealKey);
    const answer = ask({ url, api_version, user, token: secret });
    const asked = { of, atMs: nowMs, answer };
    this.#kept = asked;
    // a failure is not kept: the next read tries again
    answer.catch(() => {
      if (this.#kept === asked) this.#kept = null;
    });
    return await answer;
  }
}

async function ask(access: SchedulerAccess): Promise<SchedulerResources> {
  try {
    const [{ partitions }, { nodes }, associations] = await Promise.all([
      get(access, "slurm", "partitions", partitionsSchema),
      get(access, "slurm", "nodes", nodesSchema),
      get(access, "slurmdb", "associations", associationsSchema).then(
        (found) => found.associations,
        (): Associations => [],
      ),
    ]);
    return {
      partitions,
      nodes,
      accounts: distinct(associations.map(({ account }) => account)),
      qos: distinct(associations.flatMap(({ qos }) => qos)),
    };
  } catch (error) {
    throw new GatewayError("jobsched_unreachable", { cause: error });
  }
}

async function get<T>(
  access: SchedulerAccess,
  service: "slurm" | "slurmdb",
  what: string,
  schema: z.ZodType<T>,
): Promise<T> {
  const answer = await fetchJson({
    url: `${access.url}/${service}/${access.api_version}/${what}`,
    timeoutMs: TIMEOUT_MS,
    headers: schedulerHeaders(access),
    policy: INFRASTRUCTURE_POLICY,
    maxBytes: ANSWER_MAX_BYTES,
  });
  const read = schema.safeParse(answer);
  if (!read.success) throw new OutboundError("not an answer of a scheduler");
  return read.data;
}

const distinct = (names: readonly string[]): string[] => [...new Set(names)].filter((name) => name !== "").sort();
