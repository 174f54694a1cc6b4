/**
 * Clusters under test: real stores and one bucket, which all instances share, and instances that are processes of their own
 * (`npm start` without its installation), so that a test can stop, kill and start each alone.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Gateway } from "../harness/gateway.ts";
import { ownPort } from "../harness/own-port.ts";
import { type ProgramProcess, startProgram } from "../harness/program-process.ts";
import { startSharedStores } from "../harness/shared-stores.ts";
import { bucketOptions, startBucketServer } from "./bucket-server.ts";
import { type BucketWay, openBucketWay } from "./bucket-way.ts";
import { skewedClock } from "./clock-skew.ts";
import { cellOwner } from "./object-owner.ts";
import { PeerWays } from "./peer-ways.ts";

/** By how much the runtime's lease and takeover times are shortened: a lease of 20 s takes 4. */
const TIME_DIVISOR = 5;
const SECRET = "a secret that every instance of the cluster has";

/** One instance of a cluster. */
export interface Instance {
  readonly gateway: Gateway;
  readonly metricsUrl: string;
  /** Its own way to the bucket. */
  readonly bucket: BucketWay;
  /** Cuts it off from the other instances, and from nothing else. */
  cutOff(): void;
  /** Ends that. */
  rejoin(): void;
  /** What it has printed. */
  readonly lines: readonly string[];
  /** Sends SIGTERM and resolves with the exit code. */
  stop(): Promise<number | null>;
  /** Kills the launcher with SIGKILL; its guard kills the runtime in the same moment, as when a machine loses power. */
  kill(): Promise<void>;
  /** Stops all its processes where they are (SIGSTOP), as when a virtual machine is paused. */
  pause(): void;
  /** Lets them go on (SIGCONT). */
  resume(): void;
}

/** How one instance differs from the others. */
interface InstanceOptions {
  /** By how many seconds its clock is ahead of the others'. */
  readonly clockAheadSecs?: number;
  /** More variables, or other values. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The stores that the instances share. */
export interface Cluster {
  /** Starts one more instance; resolves when it is ready. Rejects with its last lines. */
  join(options?: InstanceOptions): Promise<Instance>;
  /** The instance that owns the Cell now, by the runtime's records in the bucket. Throws when none of the running ones does. */
  owner(): Instance;
  /** Stops every instance and store. */
  close(): Promise<void>;
}

/** Starts the stores. */
export async function startCluster(): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), "gateway-cluster-"));
  const [stores, bucket] = await Promise.all([startSharedStores(), startBucketServer()]);
  const running = new Set<ProgramProcess>();
  const instances = new Map<string, Instance>();
  const ways = new PeerWays();
  let count = 0;

  return {
    join: async ({ clockAheadSecs = 0, env: more = {} } = {}) => {
      count += 1;
      const way = await openBucketWay(bucket.url);
      const port = await ownPort();
      const peers = await ways.open(port);
      const { address } = peers;
      const env = {
        NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
        GATEWAY_DATA_DIR: join(folder, `instance-${count}`),
        GATEWAY_DASHBOARD: "0",
        GATEWAY_MODEL_HEALTH_ENABLED: "0",
        GATEWAY_PROXY_LISTEN: "127.0.0.1:0",
        GATEWAY_ADMIN_LISTEN: "127.0.0.1:0",
        GATEWAY_METRICS_LISTEN: "127.0.0.1:0",
        GATEWAY_ADMIN_TOKEN: "admin-of-the-cluster",
        ...stores.env,
        // longer than the shortened lease
        GATEWAY_ADMISSION_PATIENCE_SECS: "8",
        GATEWAY_CLUSTER_BUCKET: "s3://gateway/objects",
        GATEWAY_CLUSTER_OPTIONS: bucketOptions(way.url),
        GATEWAY_CLUSTER_LISTEN: `127.0.0.1:${port}`,
        GATEWAY_CLUSTER_ADVERTISE: address,
        GATEWAY_CLUSTER_KEY: SECRET,
        ...(clockAheadSecs === 0 ? {} : skewedClock(folder, clockAheadSecs)),
        ...more,
      };
      const command = {
        command: process.execPath,
        args: [join(import.meta.dirname, "instance.ts"), String(TIME_DIVISOR)],
      };
      // a group of its own, which is paused as a whole
      const program = startProgram(command, env, "instance_ready", true);
      running.add(program);
      peers.of(program.pid);
      const exited = program.exited.then(async (code) => {
        running.delete(program);
        instances.delete(address);
        await Promise.all([way.close(), peers.close()]);
        return code;
      });
      const signal = (name: NodeJS.Signals): void => void process.kill(-program.pid, name);
      const at = (await program.ready) as Record<"proxyUrl" | "adminUrl" | "adminToken" | "metricsUrl", string>;
      const instance: Instance = {
        gateway: new Gateway(at),
        metricsUrl: at.metricsUrl,
        bucket: way,
        cutOff: () => peers.cut(),
        rejoin: () => peers.heal(),
        lines: program.lines,
        stop: async () => {
          await program.end();
          return await exited;
        },
        kill: async () => {
          await program.end("SIGKILL");
          await exited;
        },
        pause: () => signal("SIGSTOP"),
        resume: () => signal("SIGCONT"),
      };
      instances.set(address, instance);
      return instance;
    },
    owner: () => {
      const address = cellOwner((end) => bucket.read(end));
      const owner = instances.get(address ?? "");
      if (owner === undefined) throw new Error(`no running instance owns the Cell; the record names ${address}`);
      return owner;
    },
    close: async () => {
      await Promise.all(
        [...running].map(async (program) => {
          process.kill(-program.pid, "SIGCONT");
          await program.end();
        }),
      );
      await Promise.all([stores.close(), bucket.close()]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
