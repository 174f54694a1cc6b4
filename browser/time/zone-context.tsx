/** The zone of a page, for everything on it. What holds the choice (address, storage) gives it and takes the new one. */
import { createContext, type ReactNode, use, useMemo } from "react";
import { chosenZone, usableZone, type ZoneChoice, type ZoneOption, zoneLabel, zoneOptions } from "./zones.ts";

/** What components read of the zone. */
interface ShownZone {
  /** IANA name of the zone that is shown. */
  readonly zone: string;
  /** The zone with its present offset, to stand beside totals: `Asia/Kolkata (UTC+05:30)`. */
  readonly label: string;
  readonly options: readonly ZoneOption[];
  readonly choose: (choice: ZoneChoice) => void;
}

const BROWSER_ZONE = usableZone(Intl.DateTimeFormat().resolvedOptions().timeZone);
const ZoneContext = createContext<ShownZone>({
  zone: BROWSER_ZONE,
  label: zoneLabel(BROWSER_ZONE, Date.now()),
  options: [],
  choose: () => undefined,
});

interface ZoneProviderProps {
  /** The zone of the one tenant whose data the page shows; null when there is no one tenant. */
  readonly tenantZone: string | null;
  readonly browserZone: string;
  /** Null: nobody has chosen; the tenant's zone then, else the browser's. */
  readonly choice: ZoneChoice | null;
  readonly onChoose: (choice: ZoneChoice) => void;
  /** For the offsets in the labels, epoch ms; an hour's precision is enough. */
  readonly nowMs: number;
  readonly children: ReactNode;
}

export function ZoneProvider({ tenantZone, browserZone, choice, onChoose, nowMs, children }: ZoneProviderProps) {
  const shown = useMemo((): ShownZone => {
    const options = zoneOptions(tenantZone, browserZone, nowMs);
    const zone = chosenZone(options, choice);
    return { zone, label: zoneLabel(zone, nowMs), options, choose: onChoose };
  }, [tenantZone, browserZone, choice, onChoose, nowMs]);
  return <ZoneContext value={shown}>{children}</ZoneContext>;
}

/** The zone of the page; the browser's outside of a provider. */
export function useZone(): ShownZone {
  return use(ZoneContext);
}
