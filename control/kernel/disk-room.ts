/** The room on the disks of this machine's data, and when it is too little (docs/rules/storage-layouts.md#room-on-disk). */
import { statfs } from "node:fs/promises";

/** A folder whose disk is watched. */
export interface DataFolder {
  readonly folder: "data" | "objects";
  readonly path: string;
  /** The variable that says where it is. */
  readonly variable: "GATEWAY_DATA_DIR" | "GATEWAY_WAL_PATH";
}

export interface DiskRoom {
  readonly freeBytes: number;
  readonly sizeBytes: number;
}

const LOW_PART = 0.05;
/** Twice what the Ledgers of a cell may keep while the analytics store is away. */
export const LOW_BYTES = 512 * 1024 * 1024;

/** The room that this process may use on the disk of a folder. Null: there is no such folder. */
export async function roomAt(path: string): Promise<DiskRoom | null> {
  const found = await statfs(path).catch(() => null);
  return found === null ? null : { freeBytes: found.bavail * found.bsize, sizeBytes: found.blocks * found.bsize };
}

export function isLow({ freeBytes, sizeBytes }: DiskRoom): boolean {
  return freeBytes < Math.max(LOW_BYTES, LOW_PART * sizeBytes);
}

/** As people read it: `0.4 GiB, 2 %`. */
export function roomText({ freeBytes, sizeBytes }: DiskRoom): string {
  return `${(freeBytes / 1024 ** 3).toFixed(1)} GiB, ${Math.floor((100 * freeBytes) / sizeBytes)} %`;
}
