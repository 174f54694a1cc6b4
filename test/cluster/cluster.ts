/**
 * Clusters under test: real stores and one bucket, which all instances share, and instances that are processes of their own
 * (`npm start` without its installation), so that a test can stop, kill and start each alone.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Gateway } from "../harness/gateway.ts";
import { stackEnv } from "../harness/global-setup.ts";
import { ownPort } from "../harness/own-port.ts";
import { type ProgramProcess, startProgram } from "../harness/program-process.ts";
import { startSharedStores } from "../harness/shared-stores.ts";
import { bucketOptions, startBucketServer } from "./bucket-server.ts";
import { type BucketWay, openBucketWay } from "./bucket-way.ts";
import { skewedClock } from "./clock-skew.ts";
import { cellOwner } from "./object-owner.ts";
import { PeerWays } from "./peer-ways.ts";
import { signalFamily } from "./process-family.ts";

/** By how much the runtime's lease and takeover times are shortened: a lease of 20 s takes 4. */
const TIME_DIVISOR = 5;
const SECRET = "a secret that every instance of the cluster has";

export type Instance = ReturnType<typeof instanceOf>;

export type Cluster = Awaited<ReturnType<typeof startCluster>>;

interface InstanceOptions {
  readonly clockAheadSecs?: number;
  /** More variables, or other values. */
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Starts the stores that the instances of a cluster share. A test that is not about leases takes a `timeDivisor` of 1: on a busy
 * machine an instance may be without the processor for longer than a shortened lease, and ends.
 */
export async function startCluster(timeDivisor = TIME_DIVISOR) {
  const folder = mkdtempSync(join(tmpdir(), "gateway-cluster-"));
  const [stores, bucket] = await Promise.all([startSharedStores(), startBucketServer()]);
  const running = new Set<ProgramProcess>();
  const instances = new Map<string, Instance>();
  const ways = new PeerWays();
  let count = 0;

  const start = async ({ clockAheadSecs = 0, env: more = {} }: InstanceOptions) => {
    count += 1;
    const way = await openBucketWay(bucket.url);
    const port = await ownPort();
    const peers = await ways.open(port);
    const { address } = peers;
    const env = {
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
      ...stackEnv(join(folder, `instance-${count}`), stores.env),
      GATEWAY_ADMIN_TOKEN: "admin-of-the-cluster",
      // longer than the lease
      GATEWAY_ADMISSION_PATIENCE_SECS: String(40 / timeDivisor),
      GATEWAY_CLUSTER_BUCKET: "s3://gateway/objects",
      GATEWAY_CLUSTER_OPTIONS: bucketOptions(way.url),
      GATEWAY_CLUSTER_LISTEN: `127.0.0.1:${port}`,
      GATEWAY_CLUSTER_ADVERTISE: address,
      GATEWAY_CLUSTER_KEY: SECRET,
      ...(clockAheadSecs === 0 ? {} : skewedClock(folder, clockAheadSecs)),
      ...more,
    };
    const args = [join(import.meta.dirname, "instance.ts"), String(timeDivisor)];
    // with an input, so that it ends with this process
    const program = startProgram({ command: process.execPath, args }, env, "instance_ready", true);
    running.add(program);
    peers.of(program.pid);
    const closed = program.exited.then(async () => {
      running.delete(program);
      instances.delete(address);
      await Promise.all([way.close(), peers.close()]);
    });
    return { program, address, ways: { way, peers, closed } };
  };

  return {
    /** Starts one more instance; resolves when it is ready. Rejects with its last lines. */
    join: async (options: InstanceOptions = {}): Promise<Instance> => {
      const { program, address, ways: own } = await start(options);
      const instance = instanceOf(program, (await program.ready) as Addresses, own);
      instances.set(address, instance);
      return instance;
    },
    /** Starts one that cannot become ready. */
    knock: async (options: InstanceOptions): Promise<ProgramProcess> => (await start(options)).program,
    /** The instance that owns the Cell now, by the runtime's records in the bucket. Throws when none of the running ones does. */
    owner: (): Instance => {
      const address = cellOwner((end) => bucket.read(end));
      const owner = instances.get(address ?? "");
      if (owner === undefined) throw new Error(`no running instance owns the Cell; the record names ${address}`);
      return owner;
    },
    /** Stops every instance and store. */
    close: async (): Promise<void> => {
      await Promise.all(
        [...running].map(async (program) => {
          signalFamily(program.pid, "SIGCONT");
          await program.end();
        }),
      );
      await Promise.all([stores.close(), bucket.close()]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

type Addresses = Record<"proxyUrl" | "adminUrl" | "adminToken" | "metricsUrl", string>;

interface Ways {
  readonly way: BucketWay;
  readonly peers: Awaited<ReturnType<PeerWays["open"]>>;
  /** Resolves when it has ended and its ways are closed. */
  readonly closed: Promise<void>;
}

function instanceOf(program: ProgramProcess, at: Addresses, { way, peers, closed }: Ways) {
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    const code = await program.end(signal);
    await closed;
    return code;
  };
  return {
    gateway: new Gateway(at),
    metricsUrl: at.metricsUrl,
    bucket: way,
    /** Cuts it off from the other instances, and from nothing else. */
    cutOff: peers.cut,
    /** Ends that. */
    rejoin: peers.heal,
    /** What it has printed. */
    lines: program.lines,
    /** Sends SIGTERM and resolves with the exit code. */
    stop: async (): Promise<number | null> => await end("SIGTERM"),
    /** Kills the launcher with SIGKILL; its guard kills the runtime in the same moment, as when a machine loses power. */
    kill: async (): Promise<void> => void (await end("SIGKILL")),
    /** Stops all its processes where they are (SIGSTOP), as when a virtual machine is paused. */
    pause: (): void => signalFamily(program.pid, "SIGSTOP"),
    /** Lets them continue (SIGCONT). */
    resume: (): void => signalFamily(program.pid, "SIGCONT"),
  };
}
