/** The tools as clients see them: names, texts and schemas, as short as they can be. */
import * as z from 'zod'
import type { Tool } from './tool.ts'

/** What a model receives of it is name, description and input schema; all of it costs every conversation. */
export const definitionOf = (tool: Tool) => ({
  name: tool.name,
  title: tool.title,
  description: tool.description,
  inputSchema: inputSchema(tool.input),
  outputSchema: {
    type: 'object' as const,
    properties: Object.fromEntries([...tool.output, 'error'].map(member => [member, {}])),
  },
  annotations: tool.annotations,
})

/**
 * Open: clients that validate by themselves would hide our sentence about an argument that is unknown. The server
 * refuses it, with the list of those that it knows.
 */
function inputSchema(shape: z.ZodType): { type: 'object'; [member: string]: unknown } {
  const { $schema: _, ...schema } = z.toJSONSchema(shape, { io: 'input' })
  return lean(schema) as { type: 'object' }
}

/** Drops what says nothing: bounds of the safe integers, empty additions, recursive definitions of any JSON. */
function lean(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(lean)
  if (schema === null || typeof schema !== 'object') return schema
  const entries = Object.entries(schema).filter(
    ([name, value]) =>
      !(name === 'maximum' && value === Number.MAX_SAFE_INTEGER) &&
      !(name === 'minimum' && value === Number.MIN_SAFE_INTEGER) &&
      !['propertyNames', '$defs', 'additionalProperties'].includes(name) &&
      !(name === 'properties' && Object.keys(value as object).length === 0),
  )
  if (entries.some(([name]) => name === '$ref')) return {}
  return Object.fromEntries(entries.map(([name, value]) => [name, lean(value)]))
}
