import { useQueryClient } from "@tanstack/react-query";
import { createMcpServerSchema } from "../../../shared/schema/mcp-server.ts";
import { answerValue, api } from "../../data/api.ts";
import { CreateForm } from "../../forms/record/create-form.tsx";
import { mcpServerTexts } from "../../messages/en/mcp-server.ts";
import { texts } from "../../messages/texts.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { toast } from "../../ui/toast.ts";
import { SERVER_READS, SERVER_SPECS } from "./server-form.ts";

const text = texts("mcp-server", mcpServerTexts);

interface CreateServerProps {
  readonly onCreated: (id: string) => void;
  readonly onClose: () => void;
}

/** A new server. */
export function CreateServer({ onCreated, onClose }: CreateServerProps) {
  const queries = useQueryClient();
  return (
    <Dialog isOpen isKept onClose={onClose} title={text("createTitle")}>
      <CreateForm
        specs={SERVER_SPECS}
        schema={createMcpServerSchema}
        initial={{}}
        zone="UTC"
        submitLabel={text("create")}
        onSubmit={async (body, idempotencyKey) => {
          const made = answerValue(
            await api.POST("/api/v1/mcp-servers", {
              params: { header: { "idempotency-key": idempotencyKey } },
              body,
            }),
          );
          toast({ title: text("created_toast", { name: made.name }) });
          for (const path of SERVER_READS) void queries.invalidateQueries({ queryKey: [path] });
          onCreated(made.id);
        }}
      />
    </Dialog>
  );
}
