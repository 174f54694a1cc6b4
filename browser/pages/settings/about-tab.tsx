import { useQuery } from "@tanstack/react-query";
import { read } from "../../data/reads.ts";
import { settingsTexts } from "../../messages/en/settings.ts";
import { texts } from "../../messages/texts.ts";
import { formatInstant, instantOf } from "../../time/instants.ts";
import { useZone } from "../../time/zone-context.tsx";
import { Badge } from "../../ui/badge.tsx";
import { formatCount, formatText } from "../../ui/format.ts";
import { Facts, Panel } from "../../ui/layout.tsx";
import { Loaded } from "../../ui/states.tsx";

const text = texts("settings", settingsTexts);
const MEBIBYTE = 1024 * 1024;

/** Read version, database schema, cells and protection. */
export function AboutTab() {
  const about = useQuery(read("/api/v1/about"));
  const { zone } = useZone();
  /** What would protect is named by its variable. */
  const protection = (isOn: boolean, variable: string) =>
    isOn ? (
      text("yes")
    ) : (
      <Badge key={variable} tone="warn">
        {text("setVariable", { variable })}
      </Badge>
    );
  const when = (instant: string | null): string => formatInstant(zone, instant === null ? null : instantOf(instant));
  return (
    <Panel title={text("about")}>
      <Loaded state={about}>
        {(one) => (
          <Facts
            facts={[
              [text("version"), one.version],
              [text("commit"), formatText(one.git_sha)],
              [text("built"), when(one.built_at)],
              [text("runtime"), one.runtime],
              [text("license"), one.license],
              [text("schema"), text("schemaAt", { version: one.schema_version, instant: when(one.schema_applied_at) })],
              [text("cell"), one.cell],
              [text("cells"), one.cells.join(", ")],
              [text("secretsSealed"), protection(one.secrets_encrypted, "GATEWAY_ENCRYPTION_KEY")],
              [text("keysPeppered"), protection(one.keys_peppered, "GATEWAY_API_KEY_PEPPER")],
              [text("privateBlocked"), protection(one.private_networks_blocked, "GATEWAY_BLOCK_PRIVATE_NETWORKS")],
              [
                text("bodies"),
                text("bodiesText", {
                  management: formatCount(one.management_body_max_bytes / MEBIBYTE),
                  backup: formatCount(one.backup_body_max_bytes / MEBIBYTE),
                }),
              ],
            ]}
          />
        )}
      </Loaded>
    </Panel>
  );
}
