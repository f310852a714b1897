/** Resident memory of the built hub after 20,000 connections and a load have come and gone. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { runAlone } from './lib/help.ts'
import {
  atMost,
  type HubProcess,
  load,
  prepareSends,
  type Row,
  registerAgents,
  startHubProcess,
} from './lib/hub-load.ts'

const CONNECTIONS = 20_000
const BATCH = 500
const SENDS = 8000
const SETTLE_MS = 3000
const CALM_MS = 60_000

const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

/** A connection that has asked for something and stays, as long as the hub lets it. */
async function visit({ url }: HubProcess): Promise<Socket> {
  const { hostname, port, host } = new URL(url)
  const socket = connect(Number(port), hostname)
  const end = Promise.race([once(socket, 'data'), once(socket, 'close')])
  socket.on('error', () => socket.destroy())
  socket.write(`GET /healthz HTTP/1.1\r\nHost: ${host}\r\nX-Svc-Wire: 3\r\n\r\n`)
  await end.catch(() => undefined)
  return socket
}

export async function run(): Promise<Row[]> {
  const hub = await startHubProcess({ built: true })
  const sockets: Socket[] = []
  try {
    const recipients = await registerAgents(hub, 16)
    // the growth is to be of what comes, and not of the code that it runs
    await load(hub.url, prepareSends(hub, recipients, 500), 8)
    await pause(SETTLE_MS)
    const before = hub.rssMib()
    for (let opened = 0; opened < CONNECTIONS; opened += BATCH)
      sockets.push(...(await Promise.all(Array.from({ length: BATCH }, () => visit(hub)))))
    const open = sockets.filter(socket => !socket.destroyed).length
    const crowded = hub.rssMib()
    await load(hub.url, prepareSends(hub, recipients, SENDS), 64)
    for (const socket of sockets) socket.destroy()
    await pause(CALM_MS)
    return [
      atMost('hub before', before, 'MiB', Number.POSITIVE_INFINITY),
      atMost(`hub with ${open} of ${CONNECTIONS} connections`, crowded, 'MiB', Number.POSITIVE_INFINITY),
      atMost('the most that it ever had', hub.peakMib(), 'MiB', Number.POSITIVE_INFINITY),
      atMost('growth, a minute after all have gone', hub.rssMib() - before, 'MiB', 20),
    ]
  } finally {
    for (const socket of sockets) socket.destroy()
    await hub.stop()
  }
}

if (import.meta.main) await runAlone(import.meta.filename, run)
