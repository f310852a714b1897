/** How a person goes on without a hub, or without a node: it is started where it isn't, and a hub is joined or hosted. */
import { isGone } from '../view/faces.ts'
import { bufferOf } from './edit.ts'
import type { Around } from './effects.ts'
import { toast } from './scene.ts'

const STATUS_WAIT_MS = 100
const STATUS_TRIES = 100

/** Starts the node where none answers; it answers then. */
export async function startNode({ host, live, change }: Around): Promise<void> {
  if (live.view.status !== undefined && !isGone(live.view)) return
  change(model => toast(model, 'starting the node …', 'wait'))
  await host.startNode()
  change(model => toast(model, 'the node runs', 'good'))
  // what shows it comes by the stream, which is tried every few seconds
  for (let n = 0; n < STATUS_TRIES && live.view.status === undefined; n += 1) {
    await live.ask('status', {}).catch(() => undefined)
    if (live.view.status === undefined) await new Promise(resolve => setTimeout(resolve, STATUS_WAIT_MS))
  }
}

const LOOPBACK_HUB = 'http://127.0.0.1:8088'

/** Says how a hub is hosted; then its address is asked, which is filled in. */
export async function sayHosting(around: Around): Promise<void> {
  await startNode(around)
  const { host, live, change } = around
  const text = host.asCalled(hosting(live.view.status?.aid ?? '<your address>'))
  const then = { kind: 'hub', buffer: bufferOf(LOOPBACK_HUB) } as const
  change(model => ({
    ...model,
    output: { title: 'a hub of your own', text, top: 0, isRunning: false, then },
  }))
}

const hosting = (aid: string): string =>
  [
    'In another terminal, which stays open:',
    '',
    '  svc-hub serve',
    `    a hub on this machine, at ${LOOPBACK_HUB}`,
    '',
    'In a third one:',
    '',
    `  svc-hub admit ${aid}`,
    '    lets your node in; svc-hub admission open lets everybody in',
    '',
    'Then close this page: your name at the hub is asked, and you are there.',
    '',
    'For a first task somebody else has to be there. On this machine that is a second identity of yours:',
    '',
    '  svc id new helper',
    '    prints its address, which the hub has to let in as well',
    `  svc --id helper hub-register ${LOOPBACK_HUB} --name helper`,
    '  svc --id helper tui',
    '',
    'Others reach the hub once it listens on an address of theirs, behind TLS: docs/host/README.md.',
  ].join('\n')
