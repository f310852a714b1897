/** The node as the screens reach it, over a real one. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readConfig, writeConfig } from '../../daemon/home/config.ts'
import { startNode } from '../../daemon/node.ts'
import { NodeGone } from '../../view/node-client.ts'
import { processIo } from '../io.ts'
import { nodeClientOf } from './node-client.ts'

test('a node that stops says so on the stream, and from then on stream and calls say that no node is there', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'svc-screen-'))
  const env = { SVC_DATA_DIR: dir, SVC_RUNTIME_DIR: join(dir, 'run') }
  writeConfig(dir, { ...readConfig(dir), control_addr: '127.0.0.1:0' })
  const node = await startNode({ dir, env })
  // the address at which it is looked for once it is gone
  writeConfig(dir, { ...readConfig(dir), control_addr: node.controlAddress })
  const client = nodeClientOf({ ...processIo(), env }, { id: undefined })
  const { signal } = new AbortController()
  const heard: string[] = []
  for await (const { event } of client.events(undefined, signal)) {
    heard.push(event)
    if (event === 'open') void node.stop()
  }
  expect([heard.at(0), heard.at(-1)]).toEqual(['open', 'shutdown'])
  const again = client.events(undefined, signal)[Symbol.asyncIterator]()
  await expect(again.next()).rejects.toThrow(NodeGone)
  await expect(client.call('status', {})).rejects.toThrow(NodeGone)
})
