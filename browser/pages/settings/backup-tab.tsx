import { useQuery } from "@tanstack/react-query";
import { addressOf, read } from "../../data/reads.ts";
import { settingsTexts } from "../../messages/en/settings.ts";
import { texts } from "../../messages/texts.ts";
import { DownloadLink } from "../../ui/download-link.tsx";
import { Panel, Row } from "../../ui/layout.tsx";
import { useReadOnly } from "../../ui/read-only.ts";
import { Notice } from "../../ui/states.tsx";
import { RestorePanel } from "./restore-panel.tsx";

const text = texts("settings", settingsTexts);

/** The configuration as a file, and its way back. */
export function BackupTab() {
  const about = useQuery(read("/api/v1/about"));
  const isReadOnly = useReadOnly();
  if (isReadOnly) return <Notice>{text("backupForAdmins")}</Notice>;
  if (about.isPending) return null;
  return (
    <>
      <Panel title={text("exportTitle")} note={`${text("exportText")} ${text("exportNot")}`}>
        {about.data?.secrets_encrypted === false && <Notice tone="warn">{text("exportUnsealed")}</Notice>}
        <Row>
          <DownloadLink href={addressOf("/api/v1/backup/export", {})} label={text("export")} />
        </Row>
      </Panel>
      <RestorePanel />
    </>
  );
}
