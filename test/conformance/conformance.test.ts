/** The official conformance suite against the server of the tools. */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { callsOf } from '../../daemon/control/invoke.ts'
import { type Lab, openPair } from '../two-nodes/world.ts'
import { serveOverHttp } from './http-server.ts'

const root = new URL('../..', import.meta.url).pathname
const suite = join(root, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')
const expected = join(import.meta.dirname, 'expected-failures.yaml')
/** The list only gets shorter. */
const EXPECTED_MAX = 22

let lab: Lab
let served: Awaited<ReturnType<typeof serveOverHttp>>

beforeAll(async () => {
  const pair = await openPair()
  lab = pair.lab
  const { alice } = pair
  served = await serveOverHttp({
    call: callsOf(alice),
    listen: onEvent => alice.ctx.events.listen(onEvent),
  })
})
afterAll(async () => {
  await served.close()
  await lab.close()
})

test('every scenario passes but those that are expected to fail, each of which does', async () => {
  const output = mkdtempSync(join(tmpdir(), 'svc-conformance-'))
  const args = [suite, 'server', '--url', served.url, '--expected-failures', expected, '--output-dir', output]
  const child = spawn(process.execPath, args, { cwd: output })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', chunk => {
      said += String(chunk)
    })
  const code = await new Promise(done => child.once('exit', done))
  expect(code, said).toBe(0)
  expect(said).toMatch(/server-initialize/)
})

test('what is expected to fail has a reason, and the list only shrinks', () => {
  const lines = readFileSync(expected, 'utf8').split('\n')
  const entries = lines.filter(line => line.trimStart().startsWith('- '))
  expect(entries.length).toBeLessThanOrEqual(EXPECTED_MAX)
  expect(entries.filter(line => !/ # .{10,}/.test(line))).toEqual([])
})
