/** What the flags of a tool server choose: which tools it has, and which folders are open to them. */
import { resolve } from 'node:path'
import type { ServerOptions } from '../../mcp/server.ts'
import type { Tool } from '../../mcp/tool.ts'
import type { Input } from '../command.ts'
import { CommandFailed, type Io, UsageRefused } from '../io.ts'

type Settings = Required<Pick<ServerOptions, 'tools' | 'readOnly' | 'folders' | 'cwd' | 'command'>>

/** The server of tools, or what stands in its place in a build without it. */
type Compiled = { readonly isCompiled: boolean; readonly tools: readonly Tool[] }

export function toolSettings(io: Io, input: Input, { isCompiled, tools }: Compiled): Settings {
  if (!isCompiled) throw new CommandFailed('this build has no MCP support', 'svc version')
  const readOnly = input.flags.has('--read-only')
  const chosen = namesOf(input, tools)
  return {
    tools: tools.filter(
      ({ name, annotations }) =>
        (chosen === undefined || chosen.includes(name)) && (!readOnly || annotations.readOnlyHint),
    ),
    readOnly,
    folders: (input.flags.get('--folder') ?? []).map(folder => resolve(io.cwd, folder)),
    cwd: io.cwd,
    command: line => io.asCalled(line),
  }
}

function namesOf(input: Input, tools: readonly Tool[]): string[] | undefined {
  const [given] = input.flags.get('--tools') ?? []
  if (given === undefined) return undefined
  const known = tools.map(tool => tool.name)
  const names = given.split(',').map(name => name.trim())
  const unknown = names.find(name => !known.includes(name))
  if (unknown !== undefined)
    throw new UsageRefused(`unknown tool: ${unknown}; expected some of ${known.join(', ')}`, 'svc help mcp')
  return names
}
