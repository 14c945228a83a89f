{{/* Objects are named like the release, so that several networks fit into one namespace. */}}
{{- define "postroad.labels" -}}
app.kubernetes.io/name: postroad
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
