import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import type { Records } from "../../data/api.ts";
import { read } from "../../data/reads.ts";
import { changedSearch } from "../../data/search-params.ts";
import { useList } from "../../data/use-list.ts";
import { failureOf } from "../../forms/filters/found-filters.tsx";
import { commonText } from "../../messages/common.ts";
import { deploymentTexts } from "../../messages/en/deployments.ts";
import { texts } from "../../messages/texts.ts";
import { SelectField } from "../../ui/fields.tsx";
import { Grid, PageHead, Panel, Stack } from "../../ui/layout.tsx";
import { SearchSelect } from "../../ui/search-select.tsx";
import { Notice, ReadFailure } from "../../ui/states.tsx";
import { ProvisionerNotice } from "./provisioner-notice.tsx";

const text = texts("deployments", deploymentTexts);
const NewSpec = lazy(async () => ({ default: (await import("./new-spec.tsx")).NewSpec }));
const route = getRouteApi("/signed-in/admin/deployments/new");
const EVERY_MS = 60_000;
const FOUND_MAX = "50";

/** Makes a model a managed one: which model, from which recipe, on which resources. */
export function NewDeploymentPage() {
  const { model_id: modelId, recipe: recipeId } = route.useSearch();
  const navigate = useNavigate({ from: "/deployments/new" });
  const recipes = useList<Records["Recipe"]>("/api/v1/recipes", {}, { everyMs: EVERY_MS, readsAll: true });
  const specs = useList<Records["ManagedModel"]>("/api/v1/managed", {}, { everyMs: EVERY_MS, readsAll: true });
  const managed = new Set(specs.data?.map(({ model_id }) => model_id));
  const choose = (change: { readonly model_id?: string | undefined; readonly recipe?: string | undefined }): void =>
    void navigate({ search: (before) => changedSearch(before, change), replace: true });
  const recipe = recipes.data?.find(({ id }) => id === recipeId) ?? null;
  // the form begins with what the recipe says
  const isWaiting = recipeId !== undefined && recipes.data === undefined && recipes.error === null;
  return (
    <Stack>
      <PageHead title={text("newTitle")} question={text("newQuestion")} />
      <ProvisionerNotice />
      <ReadFailure state={recipes} failed={text("recipesFailed")} />
      <Panel title={text("choose")}>
        <Grid minWidth="wide">
          <ModelField chosenId={modelId} managed={managed} onChoose={(id) => choose({ model_id: id })} />
          <SelectField
            label={text("recipe")}
            hint={recipe === null || recipe.description === "" ? text("recipeHint") : recipe.description}
            value={recipe?.id ?? ""}
            onChange={({ target }) => choose({ recipe: target.value || undefined })}
            choices={[
              { value: "", label: text("noRecipe") },
              ...(recipes.data ?? []).map(({ id, name }) => ({ value: id, label: name })),
            ]}
          />
        </Grid>
      </Panel>
      {modelId !== undefined && managed.has(modelId) ? (
        <Notice tone="warn">
          <p>{text("isManaged")}</p>
          <Link to="/deployments/$modelId" params={{ modelId }} search={{ tab: "spec" }}>
            {text("toSpec")}
          </Link>
        </Notice>
      ) : (
        <Suspense fallback={null}>
          {!isWaiting && <NewSpec key={recipe?.id ?? ""} modelId={modelId} recipe={recipe} />}
        </Suspense>
      )}
    </Stack>
  );
}

interface ModelFieldProps {
  readonly chosenId: string | undefined;
  /** Ids of models that have a spec. */
  readonly managed: ReadonlySet<string>;
  readonly onChoose: (id: string | undefined) => void;
}

/** The model, by a part of its name. */
function ModelField({ chosenId, managed, onChoose }: ModelFieldProps) {
  const [q, setQ] = useState("");
  const found = useQuery(read("/api/v1/models", { params: { query: { q, limit: FOUND_MAX } } }));
  const chosen = useQuery(
    read("/api/v1/models/{id}", { params: { path: { id: chosenId ?? "" } } }, { enabled: chosenId !== undefined }),
  );
  const model = chosenId === undefined || chosen.data?.id !== chosenId ? undefined : chosen.data;
  return (
    <Stack>
      <SearchSelect
        label={text("model")}
        placeholder={text("findModel")}
        chosen={chosenId === undefined ? undefined : (model?.model_name ?? chosenId)}
        found={
          found.data?.flatMap(({ id, model_name, model_type }) =>
            managed.has(id) ? [] : [{ value: id, label: model_name, note: model_type }],
          ) ?? null
        }
        error={failureOf(found.error)}
        onType={(typed) => setQ(typed ?? "")}
        onChoose={onChoose}
        texts={{ clear: commonText("clearFilters"), nothing: text("nothing"), searching: text("searching") }}
      />
      {model !== undefined && <p>{text("modelHint", { upstream: model.upstream_model })}</p>}
    </Stack>
  );
}
