/** Calls of the nine tools on nodes in this process, as a model makes them. */
import { expect } from 'vitest'
import { callsOf } from '../daemon/control/invoke.ts'
import type { Node } from '../daemon/node.ts'
import { openFiles } from '../mcp/files.ts'
import { runTool } from '../mcp/run.ts'
import { tools } from '../mcp/tools/all.ts'
import { never } from './two-nodes/world.ts'

export type Reply = Record<string, unknown>
type Failure = { code: string; message: string; next: string; accepted?: string[] }

/** `folder` is open to the tools. */
export function toolsOn(folder: () => string) {
  async function run(node: Node, name: string, args: Reply) {
    const tool = tools.find(row => row.name === name)
    if (tool === undefined) throw new Error(`no tool ${name}`)
    const result = await runTool(tool, args, {
      call: callsOf(node),
      signal: never,
      asked: new Map(),
      command: line => `/bin/${line}`,
      files: openFiles({
        configured: [folder()],
        cwd: '/',
        roots: async () => undefined,
        dataDir: async () => node.ctx.dir,
      }),
      readOnly: false,
    })
    const { isError } = result as { isError?: boolean }
    return { ...result, isError, text: result.content[0]?.text ?? '' }
  }
  async function ask(node: Node, name: string, args: Reply = {}): Promise<Reply> {
    const { structuredContent, text, isError } = await run(node, name, args)
    expect(isError, text).toBeUndefined()
    expect(text.length).toBeLessThanOrEqual(8_000)
    const declared = tools.find(row => row.name === name)?.output ?? []
    expect(Object.keys(structuredContent).filter(member => !declared.includes(member))).toEqual([])
    return structuredContent as Reply
  }
  async function refusal(node: Node, name: string, args: Reply): Promise<Failure> {
    const { structuredContent, isError, text } = await run(node, name, args)
    expect(isError, text).toBe(true)
    return (structuredContent as { error: Failure }).error
  }
  return { run, ask, refusal }
}

/** The call that a text names, which must be one that its tool takes. */
export function callIn(text: string): { tool: string; args: Reply } {
  const [, tool = '', args = ''] = /^(\w+) (\{.*\})$/s.exec(text) ?? []
  const row = tools.find(({ name }) => name === tool)
  expect(row, text).toBeDefined()
  const given = JSON.parse(args) as Reply
  expect(Object.keys(given).filter(name => !(name in (row?.input.shape ?? {})))).toEqual([])
  return { tool, args: given }
}

export const plain = (text: unknown): string => String(text).replace(/<<\/?untrusted [0-9a-f]{8}>>/g, '')
