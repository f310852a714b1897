/** The server factory of the tools behind HTTP on loopback, for a suite that speaks nothing else: one server a session. */
import { randomUUID } from 'node:crypto'
import * as http from 'node:http'
import type { AddressInfo } from 'node:net'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { isInitializeRequest } from '@modelcontextprotocol/sdk/types.js'
import { createServer } from '../../mcp/server.ts'
import type { NodeLink } from '../../mcp/tool.ts'

export async function serveOverHttp(link: NodeLink): Promise<{ url: string; close(): Promise<void> }> {
  const sessions = new Map<string, StreamableHTTPServerTransport>()
  let hosts: string[] = []

  const opened = async () => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableDnsRebindingProtection: true,
      allowedHosts: hosts,
      allowedOrigins: hosts.map(host => `http://${host}`),
      onsessioninitialized: id => void sessions.set(id, transport),
    })
    await createServer(link, { version: '0.0.0' }).connect(transport as never)
    return transport
  }

  const server = http.createServer((request, response) => {
    const answer = async () => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      const body = chunks.length === 0 ? undefined : (JSON.parse(Buffer.concat(chunks).toString()) as unknown)
      const known = sessions.get(String(request.headers['mcp-session-id']))
      const transport = known ?? (isInitializeRequest(body) ? await opened() : undefined)
      if (transport === undefined) response.writeHead(404).end()
      else await transport.handleRequest(request, response, body)
    }
    answer().catch(() => response.destroy())
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  hosts = [`127.0.0.1:${port}`, `localhost:${port}`]
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    async close() {
      for (const transport of sessions.values()) await transport.close()
      server.closeAllConnections()
      await new Promise(done => server.close(done))
    },
  }
}
