/** A wrong call made right: what was good stays, and nothing that the caller wanted is left out without a word. */
import * as z from 'zod'
import type { Arguments } from './call.ts'
import type { Tool } from './tool.ts'

/** The call with what is missing as the tool's example has it; never the one that failed. */
export function mended(tool: Tool, args: Arguments): Arguments {
  const { shape } = tool.input
  const kept = Object.entries(args).flatMap(([name, value]) => {
    const schema = Object.hasOwn(shape, name) ? shape[name] : undefined
    if (schema === undefined) return []
    const given = [value, [value]].find(form => schema.safeParse(form).success)
    if (given !== undefined) return [[name, given] as const]
    // a read without it shows more; a call that sends would send something else
    const isNeeded = Object.hasOwn(tool.example, name) || tool.annotations.readOnlyHint
    return isNeeded ? [] : [[name, placeholderOf(schema as z.ZodType)] as const]
  })
  const fits = { ...tool.example, ...Object.fromEntries(kept) }
  const call = tool.mend?.(fits) ?? fits
  return isSame(call, args) ? changed(tool, args) : call
}

/** Of a call whose arguments are good one by one, the one that says whom or what it is about is chosen anew. */
function changed(tool: Tool, args: Arguments): Arguments {
  const [first] = Object.entries(tool.example)
  return first === undefined ? {} : { ...args, [first[0]]: first[1] }
}

function isSame(call: Arguments, args: Arguments): boolean {
  const text = (of: Arguments) =>
    JSON.stringify(
      Object.entries(of)
        .filter(([, value]) => value !== undefined)
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    )
  return text(call) === text(args)
}

const KINDS: Readonly<Record<string, string>> = {
  boolean: '<true or false>',
  object: '<object>',
  string: '<text>',
}

/** What belongs in the place of a value, for the model to fill in. */
function placeholderOf(schema: z.ZodType): unknown {
  const { type, minimum, maximum } = z.toJSONSchema(schema, { io: 'input' })
  if (type === 'array') return ['<text>']
  if (type !== 'integer') return KINDS[String(type)] ?? '<value>'
  return maximum === undefined || maximum === Number.MAX_SAFE_INTEGER
    ? `<${minimum} or more>`
    : `<${minimum} to ${maximum}>`
}
