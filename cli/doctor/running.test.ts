/** What the doctor says of a node and its hub: one answer, whichever of the two it asked. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import type { NodeStatus } from '../../protocol/control/shapes.ts'
import { processIo } from '../io.ts'
import { checkClock, checkStatus } from './running.ts'

const url = 'https://hub.example'
const status = (hub: object) =>
  ({
    aid: 'A',
    hub,
    hub_url: url,
    data_dir: '/home',
    chain: { state: 'ACTIVE', length: 1 },
    warnings: [],
  }) as unknown as NodeStatus
const said = (hub: object, answers: boolean, isApart = false) =>
  checkStatus(status(hub), { answers, isApart, findings: [] }).find(({ check }) => check === 'hub')

test('a hub that answers and that a node at its start has not reached yet is no fault', () => {
  expect(said({ state: 'offline' }, true)).toEqual({
    check: 'hub',
    state: 'note',
    found: `${url} answers, and this node has not reached it yet`,
    mend: 'wait, then svc doctor',
  })
})

test.each([
  ['answers, but not to this node: the name is unknown', true, false],
  ['does not answer: the name is unknown', false, false],
  ['answers, but takes nothing while the clocks are apart: the name is unknown', true, true],
])('of one that the node cannot reach it says: %s', (found, answers, isApart) => {
  expect(said({ state: 'offline', reason: 'the name is unknown' }, answers, isApart)).toMatchObject({
    state: 'wrong',
    found: `${url} ${found}`,
  })
})

test('whether a hub answers is seen by the question for its clock', async () => {
  const server = createServer((_, response) => response.end('{}')).listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  expect(await checkClock(address, processIo())).toMatchObject({ answers: true, isApart: false })
  await new Promise(resolve => server.close(resolve))
  expect(await checkClock(address, processIo())).toMatchObject({
    answers: false,
    findings: [{ check: 'clock', state: 'note' }],
  })
})
