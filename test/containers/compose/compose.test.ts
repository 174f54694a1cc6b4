/**
 * Three instances by compose.yaml and compose.cluster.yaml, started by the commands of docs/containers.md on a fresh machine
 * (`npm run test:area -- containers`): they serve, one is killed under load, and all keep their data.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import type { Listening } from "../../../infra/local/http/listen.ts";
import { cellOwner } from "../../cluster/object-owner.ts";
import { expectNothingLost, killUnderStreams } from "../../cluster/streams-lost.ts";
import { Gateway, type Minted } from "../../harness/gateway.ts";
import { startTestUpstream, type TestUpstream } from "../../harness/test-upstream.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { readObjects } from "./bucket-files.ts";
import { forward } from "./forward.ts";
import { type FreshMachine, inMachine, projectFolder } from "./machine.ts";
import { readComposeRotation, readWalk } from "./walk.ts";

/** The instances, and the ports at which they are published. */
const PORTS = { edge: 8080, "edge-2": 8081, "edge-3": 8082 } as const;
type InstanceName = keyof typeof PORTS;
const NAMES = Object.keys(PORTS) as InstanceName[];
const ADMIN = "http://127.0.0.1:9180";
const CONSOLE = "http://127.0.0.1:3000";
const PROMETHEUS = "http://127.0.0.1:9090";

const container = z.object({
  Service: z.string(),
  ID: z.string(),
  State: z.string(),
  Health: z.string(),
  ExitCode: z.number(),
});

const machine = JSON.parse(process.env["TEST_COMPOSE"] ?? "") as FreshMachine;
const walk = readWalk();
const STAND_INS = "-f test/containers/compose/stand-ins.yaml";
const compose = async (words: string): Promise<string> =>
  await inMachine(machine, `${walk.compose} ${STAND_INS} -f test/containers/compose/stand-ins.cluster.yaml ${words}`);
/** The same without the overlay. */
const composeOne = async (words: string): Promise<string> =>
  await inMachine(machine, `docker compose -f infra/containers/compose.yaml ${STAND_INS} ${words}`);
const secret = (name: string): string =>
  readFileSync(join(projectFolder(machine), "infra/containers/secrets", name), "utf8").trim();

let upstream: TestUpstream;
/** Where containers reach the upstream. */
let outside: Listening;
let upstreamUrl: string;

beforeAll(async () => {
  upstream = await startTestUpstream();
  outside = await forward("0.0.0.0", 0, Number(new URL(upstream.url).port));
  upstreamUrl = `http://host.docker.internal:${outside.port}/v1`;
  await inMachine(machine, walk.secrets);
  await compose(walk.up);
}, 900_000);
afterAll(async () => {
  await outside.close();
  await upstream.close();
  await composeOne("down --volumes");
});

const through = (name: InstanceName): Gateway =>
  new Gateway({ proxyUrl: `http://127.0.0.1:${PORTS[name]}`, adminUrl: ADMIN, adminToken: secret("admin-token") });

/** A stream through each instance; the ids of the requests. */
async function streams(minted: Minted, names = NAMES): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const name of names) {
    const answer = await through(name).chat(minted, { stream: true });
    expect({ name, status: answer.status, isComplete: (await answer.text()).trimEnd().endsWith("[DONE]") }).toEqual({
      name,
      status: 200,
      isComplete: true,
    });
    ids.push(answer.headers.get("x-gateway-request-id") ?? "");
  }
  return ids;
}

/** Waits until the ledger has exactly these rows of the tenant. */
async function expectRows({ tenant }: Minted, ids: readonly string[]): Promise<void> {
  const rows = await waitFor(
    async () => await through("edge").requestIds(tenant.id),
    (found) => ids.every((id) => found.includes(id)),
  );
  expect(rows.toSorted()).toEqual(ids.toSorted());
}

async function containers(): Promise<readonly z.infer<typeof container>[]> {
  const lines = await compose("ps --all --format json");
  return lines.split("\n").map((line) => container.parse(JSON.parse(line)));
}

/** The instance that owns the Cell. */
function owner(): InstanceName {
  const objects = readObjects(join(machine.root, "var/lib/docker/volumes/gateway_bucket-data/_data/objects"));
  const read = (end: string): string | null => {
    const found = objects.find(([key]) => key.endsWith(end))?.[1];
    return found === undefined ? null : found.body.toString("utf8");
  };
  return cellOwner(read)?.replace(":7000", "") as InstanceName;
}

describe("three instances by compose", () => {
  it("are healthy, with every store, without rights and on roots that cannot be written", async () => {
    const running = await containers();
    expect(running.filter(({ Health, Service }) => Health !== "healthy" && Service !== "bucket-made")).toEqual([]);
    expect(running.find(({ Service }) => Service === "bucket-made")).toMatchObject({ State: "exited", ExitCode: 0 });
    for (const name of ["control", ...NAMES]) {
      const said = await compose(
        `exec -T ${name} sh -c "id -u; touch /app/written 2>&1; grep NoNewPrivs /proc/self/status; grep CapEff /proc/self/status"`,
      );
      expect({ name, said: said.replaceAll(/\s+/g, " ") }).toEqual({
        name,
        said: expect.stringMatching(/^10001 .*Read-only file system NoNewPrivs: 1 CapEff: 0000000000000000$/),
      });
    }
  });

  it("stream, with one ledger, for a tenant and a key of the Management API", async () => {
    const minted = await through("edge").mint(upstreamUrl);
    await expectRows(minted, await streams(minted));
  });

  it("have a console that lets the administrator in", async () => {
    const answer = await fetch(`${CONSOLE}/auth/local`, {
      method: "POST",
      headers: { origin: CONSOLE, "content-type": "application/json" },
      body: JSON.stringify({ email: "admin@localhost.localdomain", password: secret("console-password") }),
    });
    expect({ status: answer.status, body: await answer.json() }).toEqual({
      status: 200,
      body: { user: expect.objectContaining({ role: "admin" }) },
    });
  });

  it("are watched by Prometheus, with the rules", async () => {
    const ask = async (path: string): Promise<string> => await (await fetch(`${PROMETHEUS}/api/v1/${path}`)).text();
    const targets = z.object({ data: z.object({ activeTargets: z.array(z.object({ health: z.string() })) }) });
    const health = await waitFor(
      async () => targets.parse(JSON.parse(await ask("targets"))).data.activeTargets.map((each) => each.health),
      (found) => found.every((each) => each === "up"),
    );
    expect(health).toEqual(["up"]);
    expect(await ask("rules")).toContain("GatewayBackupOverdue");
    expect(await ask("query?query=gateway_cell_up")).toMatch(/"job":"gateway".*"1"\]/);
  });

  it.each(["owner", "another"] as const)("continue when %s is killed under a hundred streams", async (who) => {
    const first = owner();
    const name = who === "owner" ? first : (NAMES.find((each) => each !== first) as InstanceName);
    const instances = NAMES.map((each) => ({
      gateway: through(each),
      kill: async (): Promise<void> => void (await compose(`kill ${each}`)),
    }));
    const killed = instances[NAMES.indexOf(name)] as (typeof instances)[number];
    const since = new Date().toISOString();
    const seen = await killUnderStreams(instances, killed, upstream, upstreamUrl);
    // the runtime of another one may end with it (docs/cluster.md#limits), and cuts off what it was answering
    const others = NAMES.filter((each) => each !== name).join(" ");
    const logged = await compose(`logs --no-log-prefix --since ${since} ${others}`);
    const hasRuntimeEnded = /"message":"workerd (?:was )?ended/.test(logged);
    process.stdout.write(`${who} killed under 100 streams: ${JSON.stringify({ ...seen, hasRuntimeEnded })}\n`);
    expectNothingLost(seen);
    if (!hasRuntimeEnded) expect(seen.othersHurt).toBe(0);
    await compose("up --wait");
    const minted = await through("edge").mint(upstreamUrl);
    await expectRows(minted, await streams(minted));
  });

  it("end in order, and have everything when they start again", async () => {
    const minted = await through("edge").mint(upstreamUrl);
    const before = await streams(minted);
    await expectRows(minted, before);
    await compose("stop");
    const ended = (await containers()).filter(({ ExitCode }) => ExitCode !== 0);
    expect(ended.map(({ Service, ExitCode }) => [Service, ExitCode])).toEqual([]);
    await compose("down");
    await compose(walk.up.replace(" --build", ""));
    await expectRows(minted, [...before, ...(await streams(minted))]);
  });
});

describe("one instance by compose", () => {
  it("has its objects on a volume, and everything when it starts again", async () => {
    await compose("down --volumes");
    await composeOne("up --wait");
    const minted = await through("edge").mint(upstreamUrl);
    const before = await streams(minted, ["edge"]);
    await expectRows(minted, before);
    await composeOne("down");
    await composeOne("up --wait");
    await expectRows(minted, [...before, ...(await streams(minted, ["edge"]))]);
  });

  it("lives through a rotation of the encryption key by the commands of docs/rotate.md", async () => {
    await compose("down --volumes");
    await composeOne("up --wait");
    const status = async (): Promise<string> =>
      await inMachine(
        machine,
        `GATEWAY_ADMIN_TOKEN=${secret("admin-token")} npm run --silent gateway -- rotate status | grep "^encryption key"`,
      );
    const gateway = through("edge");
    const minted = await gateway.mint(upstreamUrl, "plain", { api_key: "a-credential-of-the-upstream" });
    const before = secret("encryption-key");
    const { rounds, restarts } = readComposeRotation();
    expect(rounds).toHaveLength(3);
    const told: string[] = [];
    for (const round of rounds) {
      await inMachine(machine, round);
      for (const words of restarts) await composeOne(words);
      await streams(minted, ["edge"]);
      told.push(await waitFor(status, (line) => line.endsWith("by 0 records")));
    }
    expect(told.map((line) => line.replaceAll(/ +/g, " "))).toEqual([
      "encryption key 1 by 0 records",
      "encryption key 1 by 0 records",
      "encryption key 0 by 0 records",
    ]);
    expect(secret("encryption-key")).not.toBe(before);
    expect(upstream.seen(minted.mark).at(-1)?.headers["authorization"]).toBe("Bearer a-credential-of-the-upstream");
  });
});
