/**
 * `gateway managed`: what the provisioner keeps running on the batch scheduler
 */
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import type { Schemas } from "../api/client/client.ts";
import { findModel, findRecipe, page, refuseNoChange, toNumber } from "./arguments.ts";
import { CliError, type Session, sessionOf } from "./session.ts";

interface SpecOptions {
  readonly recipe?: string;
  readonly file?: string;
  readonly partition?: string;
  readonly gres?: string;
  readonly account?: string;
  readonly qos?: string;
  readonly image?: string;
  readonly port?: number;
  readonly replicas?: number;
  readonly minReplicas?: number;
  readonly command?: string;
}

type Spec = Schemas["PutManagedModel"];

/** The fields of a spec as it is shown that no body sets. */
const OF_GATEWAY = [
  "model_id",
  "model_name",
  "model_type",
  "upstream_model",
  "replicas",
  "provision_error",
  "created_at",
  "updated_at",
  "rev",
] as const satisfies readonly Exclude<keyof Schemas["ManagedModel"], keyof Spec>[];

export function managedCommands(program: Command): void {
  const managed = program
    .command("managed")
    .description("models whose servers the gateway starts and keeps running on a batch scheduler");
  readCommands(managed);
  managed
    .command("set <model>")
    .description("set what to keep running for a model; omitted options keep their values or get the defaults")
    .option("--recipe <recipe>", "start from the fields of a recipe, by name or id")
    .option("--file <file>", "take fields from a JSON file (- is standard input)")
    .option("--partition <name>", "the partition for the jobs")
    .option("--gres <gres>", "generic resources per node, such as gpu:2")
    .option("--account <name>", "the scheduler's account")
    .option("--qos <name>", "the scheduler's quality of service")
    .option("--image <image>", "a container image for apptainer; blank for bare metal")
    .option("--port <port>", "the first port of the servers", toNumber)
    .option("--replicas <number>", "replicas to keep running", toNumber)
    .option("--min-replicas <number>", "replicas that must serve for the model to be healthy", toNumber)
    .option("--command <command>", "the command that starts the server")
    .action(async (model: string, options: SpecOptions, command: Command) => {
      const session = sessionOf(command);
      const { id } = await findModel(session, model);
      const given = options.file === undefined ? {} : readObject(options.file);
      const fields = await fieldsOf(session, options, given);
      refuseNoChange(fields);
      const present = await specOf(session, id);
      if (present === null) {
        const call = { params: { path: { id }, header: { "if-none-match": "*" as const } }, body: fields as Spec };
        return session.record(await session.bodyOf(session.client.PUT("/api/v1/models/{id}/managed", call)));
      }
      await changeSpec(session, id, fields, given["model_id"] === id ? (given["rev"] ?? present.rev) : present.rev);
    });
  for (const [word, enabled, description] of [
    ["enable", true, "turn a model's spec on: its replicas start"],
    ["disable", false, "turn a model's spec off: its replicas stop"],
  ] as const) {
    managed
      .command(`${word} <model>`)
      .description(description)
      .action(async (model: string, _options: object, command: Command) => {
        const session = sessionOf(command);
        const { id } = await findModel(session, model);
        await changeSpec(session, id, { enabled });
      });
  }
  managed
    .command("delete <model>")
    .description("stop managing a model; its replicas stop")
    .action(async (model: string, _options: object, command: Command) => {
      const session = sessionOf(command);
      const { id, model_name } = await findModel(session, model);
      await session.bodyOf(session.client.DELETE("/api/v1/models/{id}/managed", { params: { path: { id } } }));
      session.say(`model '${model_name}' is no longer managed`);
    });
  replicaCommands(managed);
}

function readCommands(managed: Command): void {
  managed
    .command("list")
    .description("list managed models")
    .action(async (_options: object, command: Command) => {
      const session = sessionOf(command);
      const rows = await session.rowsOfAllPages((cursor) =>
        session.client.GET("/api/v1/managed", { params: { query: page(cursor) } }),
      );
      const shown = rows.map((row) => ({ ...row, healthy: row.replicas.healthy, lost: row.replicas.lost }));
      session.listIn(rows, shown, [
        "model_name",
        "enabled",
        "partition",
        "healthy",
        "target_replicas",
        "lost",
        "provision_error",
      ]);
    });
  managed
    .command("show <model>")
    .description("show the spec of a managed model")
    .action(async (model: string, _options: object, command: Command) => {
      const session = sessionOf(command);
      const { id } = await findModel(session, model);
      session.record(
        await session.bodyOf(session.client.GET("/api/v1/models/{id}/managed", { params: { path: { id } } })),
      );
    });
  managed
    .command("resources")
    .description("what the scheduler offers: partitions, or nodes with --nodes")
    .option("--nodes", "the nodes")
    .action(async (options: { nodes?: boolean }, command: Command) => {
      const session = sessionOf(command);
      const offers = await session.bodyOf(session.client.GET("/api/v1/jobsched/resources"));
      if (options.nodes === true) session.listIn(offers, offers.nodes, ["name", "gres", "cpus", "memory_mb", "state"]);
      else session.listIn(offers, offers.partitions, ["name", "nodes", "state"]);
    });
}

function replicaCommands(managed: Command): void {
  managed
    .command("replicas [model]")
    .description("list the replicas of a model, or of all")
    .action(async (model: string | undefined, _options: object, command: Command) => {
      const session = sessionOf(command);
      const filter = model === undefined ? {} : { model_id: (await findModel(session, model)).id };
      const rows = await session.rowsOfAllPages((cursor) =>
        session.client.GET("/api/v1/replicas", { params: { query: { ...page(cursor), ...filter } } }),
      );
      session.list(rows, ["model_name", "state", "state_since", "job_id", "nodes", "last_message", "id"]);
    });
  managed
    .command("restart <replica>")
    .description("restart a replica, by its id: another job replaces its job")
    .action(async (id: string, _options: object, command: Command) => {
      const session = sessionOf(command);
      session.record(
        await session.bodyOf(session.client.POST("/api/v1/replicas/{id}/restart", { params: { path: { id } } })),
      );
    });
  managed
    .command("clear-lost <model>")
    .description("clear the lost replicas of a model, so that jobs are submitted again")
    .action(async (model: string, _options: object, command: Command) => {
      const session = sessionOf(command);
      const { id } = await findModel(session, model);
      session.record(
        await session.bodyOf(
          session.client.POST("/api/v1/models/{id}/replicas/clear-lost", { params: { path: { id } } }),
        ),
      );
    });
}

/** Changes some fields, and no other. `rev`: the revision that they were read with, if any. Throws CliError. */
async function changeSpec(session: Session, id: string, body: Partial<Spec>, rev?: unknown): Promise<void> {
  const header = typeof rev === "number" ? { "if-match": `"${rev}"` } : {};
  const call = { params: { path: { id }, header }, body };
  session.record(await session.bodyOf(session.client.PATCH("/api/v1/models/{id}/managed", call)));
}

/** The spec of a model; null: it has none. Throws CliError. */
async function specOf(session: Session, id: string): Promise<Schemas["ManagedModel"] | null> {
  const asked = session.client.GET("/api/v1/models/{id}/managed", { params: { path: { id } } });
  const isAbsent = await asked.then(
    ({ response }) => response.status === 404,
    () => false,
  );
  return isAbsent ? null : await session.bodyOf(asked);
}

/** Without what the gateway says of a spec, which changes at any time: a file may hold what `show` printed. */
function specBody(spec: Readonly<Record<string, unknown>>): Partial<Spec> {
  return Object.fromEntries(Object.entries(spec).filter(([name]) => !(OF_GATEWAY as readonly string[]).includes(name)));
}

/** The fields that a command says: of a recipe, then those of a file, then of options. Throws CliError. */
async function fieldsOf(
  session: Session,
  options: SpecOptions,
  given: Readonly<Record<string, unknown>>,
): Promise<Partial<Spec>> {
  const { recipe, partition, gres, account, qos, image, port, replicas, minReplicas, command } = options;
  const said = {
    partition,
    gres,
    account,
    qos,
    image,
    serving_port: port,
    target_replicas: replicas,
    min_replicas: minReplicas,
    launch_command: command,
  };
  return {
    ...(recipe === undefined ? {} : ((await findRecipe(session, recipe)).body as Partial<Spec>)),
    ...specBody(given),
    ...Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined)),
  };
}

/** The object in a JSON file. Throws CliError. */
export function readObject(file: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(readFileSync(file === "-" ? 0 : file, "utf8"));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // said below
  }
  throw new CliError(`${file} is not a readable file with a JSON object`);
}
