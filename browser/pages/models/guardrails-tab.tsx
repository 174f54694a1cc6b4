import { Link } from "@tanstack/react-router";
import type { Records } from "../../data/api.ts";
import { useAllPages } from "../../data/use-all-pages.ts";
import { choiceLabel } from "../../forms/record/field-words.ts";
import { STATE_TEXTS } from "../../messages/common.ts";
import { modelsTexts } from "../../messages/en/models.ts";
import { texts } from "../../messages/texts.ts";
import { formatText } from "../../ui/format.ts";
import { Panel } from "../../ui/layout.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { mayUse } from "./model-references.ts";
import type { ModelTabProps } from "./model-tab.ts";

const text = texts("models", modelsTexts);

type Tenant = Records["Tenant"];

/** Which tenants that may use the model have guardrails, and which of them ask this model (docs/rules/guardrails.md). */
export function ModelGuardrailsTab({ model: { model_name } }: ModelTabProps) {
  const tenants = useAllPages<Tenant>("/api/v1/tenants", {});
  const rows = tenants.data?.filter(
    (tenant) =>
      tenant.guardrails_policy !== null &&
      (mayUse(tenant, model_name) || tenant.guardrails_policy.guard_model === model_name),
  );
  return (
    <Panel isFlush title={text("guardrails")} note={text("guardNote")}>
      <Loaded state={{ ...tenants, data: rows }} texts={STATE_TEXTS}>
        {(shown) => (
          <Table
            label={text("guardrails")}
            columns={columnsOf(model_name)}
            rows={shown}
            rowKey={({ id }) => id}
            empty={<Empty title={text("guardNone")}>{text("guardNoneText")}</Empty>}
          />
        )}
      </Loaded>
    </Panel>
  );
}

function columnsOf(modelName: string): readonly Column<Tenant>[] {
  const said = (scanners: readonly string[] | undefined): string =>
    formatText((scanners ?? []).map(choiceLabel).join(", "));
  return [
    {
      id: "tenant",
      head: text("guardTenant"),
      isWide: true,
      cell: ({ id, name }) => (
        <Link to="/tenants/$tenantId" params={{ tenantId: id }} search={{ tab: "guardrails" }} title={name}>
          <bdi>{name}</bdi>
        </Link>
      ),
    },
    {
      id: "action",
      head: text("guardAction"),
      cell: ({ guardrails_policy: policy }) => formatText(policy === null ? null : choiceLabel(policy.action)),
    },
    { id: "input", head: text("guardInput"), cell: ({ guardrails_policy: policy }) => said(policy?.input_scanners) },
    { id: "output", head: text("guardOutput"), cell: ({ guardrails_policy: policy }) => said(policy?.output_scanners) },
    {
      id: "judge",
      head: text("guardJudge"),
      cell: ({ guardrails_policy: policy }) =>
        policy?.guard_model === modelName ? text("guardThis") : <bdi>{formatText(policy?.guard_model)}</bdi>,
    },
  ];
}
