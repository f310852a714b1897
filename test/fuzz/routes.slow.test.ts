import { afterAll, beforeAll, expect, test } from 'vitest'
import { request } from '../../hub/testing.ts'
import { type Wire3RouteName, wire3Routes } from '../../protocol/wire3/routes.ts'
import { type FuzzWorld, fuzzConnection, fuzzRoute, startFuzzWorld } from './traffic.ts'

const CASES = 20_000
const CONNECTIONS = 20_000
const seedBase = Math.floor(Math.random() * 1e9)

let world: FuzzWorld
beforeAll(async () => {
  world = await startFuzzWorld()
})
afterAll(() => world.hub.close())

test.each(Object.keys(wire3Routes) as Wire3RouteName[])(
  `%s answers ${CASES} mutated requests (from ${seedBase}) with codes of its row and never fails`,
  async name => {
    for (let i = 0; i < CASES; i++)
      expect(await fuzzRoute(name, world, seedBase + i), `seed ${seedBase + i}`).toBeUndefined()
  },
)

test(`${CONNECTIONS} broken connections (from ${seedBase}) leave the hub serving`, async () => {
  for (let i = 0; i < CONNECTIONS; i++) await fuzzConnection(world, seedBase + i)
  expect((await request(`${world.hub.url}/healthz`, 'GET')).json['status']).toBe('ok')
  expect(world.hub.alerts.filter(({ event }) => event !== 'listening')).toEqual([])
})
