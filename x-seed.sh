A=http://127.0.0.1:21781/api/v1; H="authorization: Bearer hd-admin-token-hd-admin-token-hd"
c() { curl -s -X "$1" "$A$2" -H "$H" -H 'content-type: application/json' ${3:+-d "$3"}; echo; }
c PUT /settings/jobsched '{"enabled":true,"url":"http://127.0.0.1:21790","api_version":"v0.0.41","user":"gateway","token":"double-token","node_aliases":[{"host":"n01","ip":"127.0.0.1"},{"host":"n02","ip":"127.0.0.1"},{"host":"n03","ip":"127.0.0.1"}]}' | cut -c1-100
for m in qwen2.5-7b llama-70b-with-a-very-long-name-$(printf 'x%.0s' $(seq 150)) embed; do c POST /models "{\"model_name\":\"$m\"}" | grep -o '"id":"[^"]*"' | head -1; done
ids=$(curl -s "$A/models" -H "$H" | python3 -c "import json,sys
for m in json.load(sys.stdin): print(m['id'], m['model_name'][:8])")
echo "$ids"
q=$(echo "$ids" | grep qwen | cut -d' ' -f1); l=$(echo "$ids" | grep llama | cut -d' ' -f1)
c PUT /models/$q/managed '{"partition":"gpu","gres":"gpu:1","launch_command":"exec serve --port \"$GATEWAY_SERVING_PORT\"","serving_port":21800,"target_replicas":3,"max_job_failures":3}' | cut -c1-80
sleep 12
c PUT /models/$l/managed '{"partition":"gpu","gres":"gpu:4","nodes":2,"launch_command":"exec serve","serving_port":8000,"target_replicas":2,"max_job_failures":1}' | cut -c1-80
sleep 4
curl -s -X POST http://127.0.0.1:21790/move -d '{"id":5,"states":["FAILED"]}'
