/** The room on the disks of this machine's data, as gauges that are read at each scrape. */
import { Gauge } from "prom-client";
import { metricOptions } from "../../../shared/catalogues/metrics.ts";
import { type DataFolder, type DiskRoom, roomAt } from "../../kernel/disk-room.ts";

/** The gauges; they belong to no registry until they are registered. A folder that is not there has no value. */
export function diskGauges(folders: readonly DataFolder[]): readonly Gauge<string>[] {
  const gauge = (name: "gateway_disk_free_bytes" | "gateway_disk_size_bytes", value: (room: DiskRoom) => number) =>
    new Gauge({
      ...metricOptions(name),
      registers: [],
      async collect() {
        for (const { folder, path } of folders) {
          const room = await roomAt(path);
          if (room !== null) this.set({ folder }, value(room));
        }
      },
    });
  return [
    gauge("gateway_disk_free_bytes", ({ freeBytes }) => freeBytes),
    gauge("gateway_disk_size_bytes", ({ sizeBytes }) => sizeBytes),
  ];
}
