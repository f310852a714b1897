/** Binding a listener to its address, and what it is then called. */
import type { Server } from 'node:http'
import type { Listen } from './config.ts'

/** Resolves with the URL of the bound address; a port of 0 took a free one. */
export function bindServer(server: Server, { host, port }: Listen): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.removeListener('error', reject)
      const bound = server.address()
      if (bound === null || typeof bound === 'string') return reject(new Error('the listener has no address'))
      const shown = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address
      resolve(`http://${shown}:${bound.port}`)
    })
  })
}
