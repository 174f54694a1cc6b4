/**
 * Control services that start together on an empty database, as processes: they migrate once, each serves what the other
 * writes, and they use no session state that a transaction pooler would lose.
 */

import { connect, createServer, type Socket } from "node:net";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { type Listening, listen } from "../../infra/local/http/listen.ts";
import { startRedisBridge } from "../../infra/local/redis/bridge.ts";
import { memoryBackend } from "../../infra/local/redis/memory-backend.ts";
import { newDatabase } from "../harness/control-database.ts";
import { type ControlProcess, PROCESS_TOKEN, startControlProcess } from "../harness/control-process.ts";
import type { Postgres } from "../harness/postgres.ts";
import { waitFor } from "../harness/wait-for.ts";

const REPLICAS = 3;
const POOLED_CONNECTIONS = 4;

let pooler: Pooler;
let store: Awaited<ReturnType<typeof startRedisBridge>>;
const started: ControlProcess[] = [];

beforeAll(async () => {
  pooler = await startPooler(inject("databaseServer"), POOLED_CONNECTIONS);
  store = await startRedisBridge({ backend: memoryBackend(), token: PROCESS_TOKEN });
});
afterAll(async () => {
  for (const replica of started) await replica.end();
  await pooler.close();
  await store.close();
});

async function start(databaseUrl: string): Promise<ControlProcess> {
  const replica = await startControlProcess({ databaseUrl, storeUrl: store.url });
  started.push(replica);
  return replica;
}

const migratedBy = (replica: ControlProcess): readonly string[] =>
  replica.log().flatMap((entry) => (entry["event"] === "migrated" ? (entry["applied"] as string[]) : []));

/** How often the replica has run the jobs that run on one replica only. */
const takings = (replica: ControlProcess): number =>
  replica.log().filter((entry) => entry["event"] === "jobs_taken").length;

/** One replica runs the jobs; when it is killed, another one runs them. */
async function jobsMoveOn(replicas: readonly ControlProcess[]): Promise<void> {
  const holders = () => replicas.filter((replica) => takings(replica) > 0);
  await waitFor(holders, (found) => found.length > 0);
  const [first] = holders();
  expect(holders()).toEqual([first]);
  await first?.end();
  await waitFor(holders, (found) => found.length > 1);
  expect(holders()).toHaveLength(2);
}

describe.each(["directly", "behind a transaction pooler"])("replicas that start at once, %s", (how) => {
  it("migrate once, and serve what the others write", async () => {
    const database = new URL(await newDatabase());
    const direct = database.href;
    if (how !== "directly") database.port = String(pooler.port);
    const replicas = await Promise.all(Array.from({ length: REPLICAS }, async () => await start(database.href)));

    // Its log has another way to here than what it says when it listens.
    const applied = await waitFor(
      () => replicas.flatMap(migratedBy),
      (names) => names.length > 0,
    );
    expect(replicas.filter((replica) => migratedBy(replica).length > 0)).toHaveLength(1);
    const client = new pg.Client({ connectionString: direct });
    await client.connect();
    const { rows } = await client.query<{ name: string }>("SELECT name FROM schema_migrations ORDER BY version");
    await client.end();
    expect(rows.map((row) => row.name)).toEqual(applied);

    const names = Array.from({ length: 24 }, (_, at) => `tenant-${at}`);
    const created = await Promise.all(
      names.map(
        async (name, at) => (await replicas[at % REPLICAS]?.request("POST", "/api/v1/tenants", { name }))?.status,
      ),
    );
    expect(new Set(created)).toEqual(new Set([200]));
    for (const replica of replicas) {
      const listed = (await (await replica.request("GET", "/api/v1/tenants")).json()) as { name: string }[];
      expect(listed.map((tenant) => tenant.name).sort()).toEqual([...names].sort());
    }
    if (how === "directly") return;
    expect(pooler.switches()).toBeGreaterThan(REPLICAS);
    await jobsMoveOn(replicas);
  });
});

interface Pooler extends Listening {
  /** How often a client got another server connection than before. */
  switches(): number;
}

const SSL_REQUEST = 80_877_103;
const code = (letter: string): number => letter.charCodeAt(0);

interface Upstream {
  readonly socket: Socket;
  /** The client that uses the connection now, as a receiver of the server's messages. */
  receive: (message: Buffer) => void;
}

/**
 * Starts a transaction pooler with this many server connections per database. A client has a server connection from the first
 * message of a transaction to its end, and most likely another one for the next transaction. What a client leaves on a session (a
 * lock, a setting, a prepared statement, a temporary table) is therefore lost to it, and another client finds it.
 */
async function startPooler(server: Pick<Postgres, "host" | "port">, size: number): Promise<Pooler> {
  const pools = new Map<string, Pool>();
  const clients = new Set<Socket>();
  let switches = 0;
  const front = createServer((socket) => {
    clients.add(socket.setNoDelay(true));
    socket.on("error", () => socket.destroy());
    let pool: Pool | undefined;
    let waiting: Promise<void> | undefined;
    let upstream: Upstream | undefined;
    let before: Upstream | undefined;
    let unanswered = 0;
    const onMessage = (message: Buffer): void => {
      if (message[0] === code("X")) return void socket.end();
      if (message[0] === code("Q") || message[0] === code("S")) unanswered += 1;
      if (upstream !== undefined) return void upstream.socket.write(message);
      const taken = (waiting ?? attach()).then(() => void upstream?.socket.write(message));
      waiting = taken;
      void taken.catch(() => socket.destroy());
    };
    const attach = async (): Promise<void> => {
      if (pool === undefined) throw new Error("a message came before the start of the session");
      upstream = await pool.take(before);
      if (before !== undefined && before !== upstream) switches += 1;
      before = upstream;
      upstream.receive = onAnswer;
    };
    const onAnswer = (message: Buffer): void => {
      socket.write(message);
      if (message[0] !== code("Z")) return;
      unanswered -= 1;
      if (unanswered > 0 || message[5] !== code("I")) return;
      const free = upstream;
      upstream = undefined;
      waiting = undefined;
      if (free !== undefined) pool?.give(free);
    };
    const frames = splitter(onMessage);
    socket.on("data", (data: Buffer) => {
      if (pool !== undefined) return frames(data);
      if (data.readInt32BE(4) === SSL_REQUEST) return void socket.write("N");
      const length = data.readInt32BE(0);
      pool = poolOf(pools, server, data.subarray(0, length), size);
      socket.write(welcome());
      if (data.length > length) frames(data.subarray(length));
    });
    // when a client leaves in the middle of a transaction, its server connection is closed, and the transaction ends
    socket.on("close", () => {
      clients.delete(socket);
      if (upstream !== undefined) pool?.drop(upstream);
    });
  });
  const listening = await listen(front, "127.0.0.1", 0);
  return {
    ...listening,
    switches: () => switches,
    close: async () => {
      for (const client of clients) client.destroy();
      for (const pool of pools.values()) pool.close();
      await listening.close();
    },
  };
}

/** The server connections of one user and database. A client gets another one than before, when there is one. */
class Pool {
  readonly #open: () => Promise<Upstream>;
  readonly #size: number;
  readonly #free: Upstream[] = [];
  readonly #all = new Set<Upstream>();
  readonly #queue: ((upstream: Upstream) => void)[] = [];
  #opening = 0;

  constructor(open: () => Promise<Upstream>, size: number) {
    this.#open = open;
    this.#size = size;
  }

  async take(before: Upstream | undefined): Promise<Upstream> {
    if (this.#all.size + this.#opening < this.#size) {
      this.#opening += 1;
      const upstream = await this.#open().finally(() => {
        this.#opening -= 1;
      });
      this.#all.add(upstream);
      return upstream;
    }
    const other = this.#free.findIndex((upstream) => upstream !== before);
    const [free] = this.#free.splice(Math.max(0, other), 1);
    return free ?? (await new Promise((resolve) => this.#queue.push(resolve)));
  }

  give(upstream: Upstream): void {
    upstream.receive = () => undefined;
    const next = this.#queue.shift();
    if (next === undefined) this.#free.push(upstream);
    else next(upstream);
  }

  drop(upstream: Upstream): void {
    this.#all.delete(upstream);
    upstream.socket.destroy();
    const waiter = this.#queue.shift();
    if (waiter !== undefined) void this.take(undefined).then(waiter);
  }

  close(): void {
    for (const { socket } of this.#all) socket.destroy();
  }
}

/** The first message has user and database, so it chooses the pool. */
function poolOf(
  pools: Map<string, Pool>,
  server: Pick<Postgres, "host" | "port">,
  startup: Buffer,
  size: number,
): Pool {
  const name = startup.toString("latin1");
  const pool = pools.get(name) ?? new Pool(async () => await openUpstream(server, Buffer.from(startup)), size);
  pools.set(name, pool);
  return pool;
}

async function openUpstream(server: Pick<Postgres, "host" | "port">, startup: Buffer): Promise<Upstream> {
  const socket = connect(server.port, server.host).setNoDelay(true);
  return await new Promise((resolve, reject) => {
    const upstream: Upstream = {
      socket,
      receive: (message) => {
        if (message[0] === code("E")) reject(new Error("the server refused the session"));
        if (message[0] === code("Z")) resolve(upstream);
      },
    };
    const frames = splitter((message) => upstream.receive(message));
    socket.on("error", reject).on("data", frames).write(startup);
  });
}

/** Cuts a stream into messages: a type byte, and a length that includes its own bytes. */
function splitter(onMessage: (message: Buffer) => void): (data: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (data) => {
    rest = rest.length === 0 ? data : Buffer.concat([rest, data]);
    while (rest.length >= 5) {
      const length = rest.readInt32BE(1) + 1;
      if (rest.length < length) return;
      const message = rest.subarray(0, length);
      rest = rest.subarray(length);
      onMessage(message);
    }
  };
}

/** What a server sends when a session has begun: no password is needed, its settings, and that it is ready. */
function welcome(): Buffer {
  const message = (letter: string, body: Buffer): Buffer => {
    const head = Buffer.alloc(5);
    head.write(letter, 0, "latin1");
    head.writeInt32BE(body.length + 4, 1);
    return Buffer.concat([head, body]);
  };
  const settings = {
    server_version: "18.4",
    client_encoding: "UTF8",
    standard_conforming_strings: "on",
    DateStyle: "ISO",
  };
  return Buffer.concat([
    message("R", Buffer.alloc(4)),
    ...Object.entries(settings).map(([name, value]) => message("S", Buffer.from(`${name}\0${value}\0`))),
    message("K", Buffer.alloc(8)),
    message("Z", Buffer.from("I")),
  ]);
}
