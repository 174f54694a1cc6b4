import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import type { Records } from "../../data/api.ts";
import { useList } from "../../data/use-list.ts";
import { ListTable } from "../../forms/list/list-table.tsx";
import { type ListColumn, useListView } from "../../forms/list/use-list-view.tsx";
import { choiceLabel } from "../../forms/record/field-words.ts";
import { modelsTexts } from "../../messages/en/models.ts";
import { texts } from "../../messages/texts.ts";
import { formatText } from "../../ui/format.ts";
import { Empty } from "../../ui/states.tsx";
import { mayUse } from "./model-references.ts";
import type { ModelTabProps } from "./model-tab.ts";

const text = texts("models", modelsTexts);

type Tenant = Records["Tenant"];

/** Which tenants that may use the model have guardrails, and which of them ask this model (docs/rules/guardrails.md). */
export function ModelGuardrailsTab({ model: { model_name } }: ModelTabProps) {
  const tenants = useList<Tenant>("/api/v1/tenants", {}, { readsAll: true });
  const rows = useMemo(
    () =>
      tenants.data?.filter(
        (tenant) =>
          tenant.guardrails_policy !== null &&
          (mayUse(tenant, model_name) || tenant.guardrails_policy.guard_model === model_name),
      ),
    [tenants.data, model_name],
  );
  const columns = useMemo(() => columnsOf(model_name), [model_name]);
  const view = useListView({ rows, columns, prefix: "guardrails_", file: "guardrails" });
  return (
    <ListTable
      state={tenants}
      view={view}
      title={text("guardrails")}
      note={text("guardNote")}
      actions={view.choice}
      label={text("guardrails")}
      rowKey={({ id }) => id}
      empty={<Empty title={text("guardNone")}>{text("guardNoneText")}</Empty>}
    />
  );
}

function columnsOf(modelName: string): readonly ListColumn<Tenant>[] {
  const said = (scanners: readonly string[] | undefined): string =>
    formatText((scanners ?? []).map(choiceLabel).join(", "));
  return [
    {
      id: "tenant",
      head: text("guardTenant"),
      isWide: true,
      sortBy: ({ name }) => name,
      cell: ({ id, name }) => (
        <Link to="/tenants/$tenantId" params={{ tenantId: id }} search={{ tab: "guardrails" }} title={name}>
          <bdi>{name}</bdi>
        </Link>
      ),
    },
    {
      id: "action",
      head: text("guardAction"),
      sortBy: ({ guardrails_policy: policy }) => (policy === null ? null : choiceLabel(policy.action)),
      cell: ({ guardrails_policy: policy }) => formatText(policy === null ? null : choiceLabel(policy.action)),
    },
    {
      id: "input",
      head: text("guardInput"),
      csv: ({ guardrails_policy: policy }) => said(policy?.input_scanners),
      cell: ({ guardrails_policy: policy }) => said(policy?.input_scanners),
    },
    {
      id: "output",
      head: text("guardOutput"),
      csv: ({ guardrails_policy: policy }) => said(policy?.output_scanners),
      cell: ({ guardrails_policy: policy }) => said(policy?.output_scanners),
    },
    {
      id: "judge",
      head: text("guardJudge"),
      csv: ({ guardrails_policy: policy }) => policy?.guard_model ?? null,
      cell: ({ guardrails_policy: policy }) =>
        policy?.guard_model === modelName ? text("guardThis") : <bdi>{formatText(policy?.guard_model)}</bdi>,
    },
  ];
}
