/** Shapes of rows as JSON Schema, and their members as rows of a printed table. */
import * as z from 'zod'
import type { Shape } from '../protocol/contract/route.ts'

export type Schema = {
  type?: string | string[]
  description?: string
  const?: unknown
  enum?: unknown[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
  additionalProperties?: boolean | Schema
  pattern?: string
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  [keyword: string]: unknown
}

/** The JSON Schema (2020-12) of a shape, as the wire carries it. */
export function schemaOf(shape: Shape): Schema {
  const { $schema: _, ...schema } = z.toJSONSchema(shape, { io: 'input', unrepresentable: 'any' })
  return schema as Schema
}

export type Member = { name: string; type: string; optional: boolean }

/** Members of an object shape, those of objects inside it with their path: `items[].rid`. */
export function membersOf(schema: Schema): Member[] {
  const variants = schema.anyOf ?? schema.oneOf
  if (variants !== undefined && schema.properties === undefined) {
    const seen = new Map<string, Member>()
    for (const member of variants.flatMap(membersOf)) {
      const before = seen.get(member.name)
      const types = [...(before?.type.split(' or ') ?? []), ...member.type.split(' or ')]
      const type = [...new Set(types)].join(' or ')
      seen.set(member.name, { ...member, type, optional: true })
    }
    const everywhere = (name: string) => variants.every(variant => variant.required?.includes(name))
    return [...seen.values()].map(member => ({ ...member, optional: !everywhere(member.name) }))
  }
  return Object.entries(schema.properties ?? {}).flatMap(([name, part]) => {
    const optional = !(schema.required ?? []).includes(name)
    const inner = part.type === 'array' ? part.items : part
    const path = part.type === 'array' ? `${name}[]` : name
    const nested =
      inner === undefined
        ? []
        : membersOf(inner).map(member => ({ ...member, name: within(path, member.name) }))
    return [{ name: named(name), type: typeOf(part), optional }, ...nested]
  })
}

/** One whose name has dots is told from one inside another. */
const named = (name: string): string => (name.includes('.') ? `["${name}"]` : name)
const within = (path: string, name: string): string =>
  name.startsWith('[') ? `${path}${name}` : `${path}.${name}`

/** What a member holds, in words. */
export function typeOf(schema: Schema): string {
  if (schema.description !== undefined) return schema.description
  if (schema.const === '') return 'empty'
  if (schema.const !== undefined) return `\`${String(schema.const)}\``
  if (schema.enum !== undefined) return schema.enum.map(value => `\`${String(value)}\``).join(' or ')
  const variants = schema.anyOf ?? schema.oneOf
  if (variants !== undefined) return [...new Set(variants.map(typeOf))].join(' or ')
  if (schema.type === 'array') return arrayType(schema)
  if (schema.type === 'object') return 'object'
  if (schema.type === 'integer') return `integer${bounds(schema.minimum, schema.maximum)}`
  if (schema.type === 'string') return stringType(schema)
  if (Array.isArray(schema.type)) return schema.type.map(type => typeOf({ ...schema, type })).join(' or ')
  return schema.type ?? 'any JSON value'
}

function arrayType(schema: Schema): string {
  const items = schema.items === undefined ? 'values' : typeOf(schema.items)
  return `list of${bounds(schema.minItems, schema.maxItems)} ${items === 'object' ? 'objects' : items}`
}

function stringType(schema: Schema): string {
  const length = bounds(schema.minLength, schema.maxLength)
  const text = length === '' ? 'text' : `text of${length} characters`
  return schema.pattern === undefined ? text : `${text} matching \`${schema.pattern.replaceAll('|', '\\|')}\``
}

function bounds(least: number | undefined, most: number | undefined): string {
  const top = most !== undefined && most < Number.MAX_SAFE_INTEGER ? most : undefined
  if (least !== undefined && top !== undefined) return ` ${least} to ${top}`
  if (top !== undefined) return ` at most ${top}`
  return least !== undefined && least > 0 ? ` at least ${least}` : ''
}
