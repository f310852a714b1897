/** Binding a listener to its address, and what it is then called. */
import { createServer, type Server } from 'node:http'
import { AddressRefused } from './config-refused.ts'
import type { Listen } from './places-config.ts'

/** Why an address can't be listened on, by the code of the system. */
const reasons: Record<string, [found: string, next: string]> = {
  EADDRINUSE: ['is in use', 'stop the program that listens there, or choose another port'],
  EADDRNOTAVAIL: ['is not an address of this machine', 'choose one that is'],
  EACCES: ['needs privileges that this user lacks', 'choose a port above 1023 and put a proxy in front'],
  ENOTFOUND: ['cannot be resolved', 'use an address of this machine'],
}

/** Whether only this machine reaches a host name or address of a listener. */
export function isLocal(host: string): boolean {
  return /^(127\.|::1$|localhost$)/.test(host)
}

/** Resolves with the URL of the bound address; a port of 0 took a free one. */
export function bindServer(server: Server, { host, port }: Listen): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const reason = reasons[error.code ?? '']
      reject(reason === undefined ? error : new AddressRefused(`${host}:${port} ${reason[0]}`, reason[1]))
    })
    server.listen(port, host, () => {
      server.removeAllListeners('error')
      const bound = server.address()
      if (bound === null || typeof bound === 'string') return reject(new Error('the listener has no address'))
      const shown = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address
      resolve(`http://${shown}:${bound.port}`)
    })
  })
}

/** Refuses an address that is taken, before anything is written; a port of 0 never is. */
export async function checkAddress(listen: Listen): Promise<void> {
  if (listen.port === 0) return
  const probe = createServer()
  await bindServer(probe, listen)
  await new Promise(resolve => probe.close(resolve))
}
