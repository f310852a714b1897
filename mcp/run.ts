/** One call of a tool: arguments judged, the result fenced, an error explained. */
import { randomBytes } from 'node:crypto'
import type * as z from 'zod'
import { faultOf } from '../protocol/contract/fault.ts'
import { plainLine } from '../protocol/encoding/plain-text.ts'
import { present } from '../protocol/encoding/present.ts'
import type { Arguments } from './call.ts'
import { ToolError } from './errors.ts'
import { fenced, fenceWith, openMarker } from './fence.ts'
import { explain, isMistake } from './next.ts'
import { InputNeeded } from './rounds.ts'
import type { Tool, ToolContext } from './tool.ts'

const MARKER_BYTES = 4
const NAME_CHARACTERS_MAX = 40

/** What is wrong, and which names are unknown: a wrong name and a missing one are mostly one mistake. */
function faultIn(error: z.ZodError, tool: Tool, args: Arguments): string {
  const { shape } = tool.input
  const unknown = Object.keys(args).filter(name => !Object.hasOwn(shape, name))
  if (unknown.length === 0) return faultOf(error, args, 'the arguments')
  const known = Object.fromEntries(Object.entries(args).filter(([name]) => Object.hasOwn(shape, name)))
  const rest = tool.input.safeParse(known)
  const fault = rest.success ? [] : [faultOf(rest.error, known, 'the arguments')]
  const names = unknown.map(name => plainLine(name, NAME_CHARACTERS_MAX)).join(', ')
  return [`unknown argument: ${names}`, ...fault].join('; ')
}

export async function runTool(tool: Tool, args: Arguments, given: Omit<ToolContext, 'fence'>) {
  const marker = randomBytes(MARKER_BYTES).toString('hex')
  const context: ToolContext = { ...given, fence: fenceWith(marker) }
  try {
    const parsed = tool.input.safeParse(args)
    if (!parsed.success) throw new ToolError('bad_request', faultIn(parsed.error, tool, args))
    const structured = fenced(await tool.run(parsed.data, context), context.fence) as Record<string, unknown>
    const text = JSON.stringify(structured)
    return {
      content: [{ type: 'text' as const, text }],
      structuredContent: structured,
      ...present({ _meta: metaOf(text, marker) }),
    }
  } catch (thrown) {
    if (thrown instanceof InputNeeded) throw thrown
    if (isMistake(thrown)) console.error(`svc: ${tool.name} failed:`, thrown)
    const { code, message, next, accepted } = explain(thrown, tool, args, context)
    const listed = accepted === undefined ? '' : ` Accepted: ${accepted.join(', ') || 'no arguments'}.`
    const text = `${code}: ${message}.${listed} Next: ${next}.`
    return {
      isError: true,
      content: [{ type: 'text' as const, text }],
      structuredContent: { error: { code, message, next, ...present({ accepted }) } },
      ...present({ _meta: metaOf(text, marker) }),
    }
  }
}

/** Says which marker stands around the words of others, where there are any; nobody else can have written it. */
const metaOf = (text: string, marker: string) =>
  text.includes(openMarker(marker)) ? { 'svc/untrusted': true, 'svc/marker': marker } : undefined
