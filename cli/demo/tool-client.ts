/** A client of a tool server that is started as a program: the SDK's own, as coding agents use it. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'

export type ToolClient = AsyncDisposable & {
  listTools(): Promise<string[]>
  /** The structured result; a tool error throws with its text. */
  callTool(name: string, args: Record<string, unknown>): Promise<Record<string, unknown>>
}

/** Starts `command` and speaks MCP with it over stdio. */
export async function startToolClient(
  command: string,
  args: string[],
  env: Record<string, string>,
): Promise<ToolClient> {
  const client = new Client({ name: 'svc-demo', version: '1' })
  const transport = new StdioClientTransport({ command, args, env, stderr: 'ignore' })
  await client.connect(transport)
  return {
    listTools: async () => (await client.listTools()).tools.map(tool => tool.name),
    async callTool(name, given) {
      const result = await client.callTool({ name, arguments: given })
      if (result.isError)
        throw new Error((result.content as { text?: string }[])[0]?.text ?? 'the tool failed')
      return (result.structuredContent ?? {}) as Record<string, unknown>
    },
    [Symbol.asyncDispose]: () => client.close(),
  }
}
