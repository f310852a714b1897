/** The tests of every route: so many mutated requests each, and broken connections after them. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { request } from '../../hub/testing/hub.ts'
import { seed } from '../../protocol/testing/slow.ts'
import { type Wire3RouteName, wire3Routes } from '../../protocol/wire3/routes.ts'
import { type FuzzWorld, fuzzConnection, fuzzRoute, startFuzzWorld } from './traffic.ts'

export function testRoutes(cases: number, connections: number): void {
  const first = seed
  let world: FuzzWorld
  beforeAll(async () => {
    world = await startFuzzWorld()
  })
  afterAll(() => world.hub.close())

  test.each(Object.keys(wire3Routes) as Wire3RouteName[])(
    `%s answers ${cases} mutated requests (from ${first}) with codes of its row and never fails`,
    async name => {
      for (let seed = first; seed < first + cases; seed++)
        expect(await fuzzRoute(name, world, seed), `seed ${seed}`).toBeUndefined()
    },
  )

  test(`${connections} broken connections (from ${first}) leave the hub serving`, async () => {
    for (let seed = first; seed < first + connections; seed++) await fuzzConnection(world, seed)
    expect((await request(`${world.hub.url}/healthz`, 'GET')).json['status']).toBe('ok')
    expect(world.hub.alerts.filter(({ event }) => event !== 'listening')).toEqual([])
  })
}
