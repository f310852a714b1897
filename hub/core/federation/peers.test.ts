import { expect, test } from 'vitest'
import { incept } from '../../../protocol/identity/kel.ts'
import { random } from '../../testing/hub.ts'
import { Peers } from './peers.ts'

test('a hub that was taken off the list and listed again is not at fault for what was before', () => {
  const peers = new Peers()
  const log = incept({ seed: random(32), nextSeed: random(32), ts: 1 })
  const peer = { aid: log.aid, url: 'http://other.test', log }
  peers.replace([peer])
  peers.contact(peer.aid).fault = { ms: 1, why: 'it was away' }
  peers.replace([{ ...peer, url: 'http://moved.test' }])
  expect(peers.contact(peer.aid).fault).toBeDefined()
  peers.replace([])
  peers.replace([peer])
  expect(peers.contact(peer.aid)).toEqual({ answeredMs: undefined, fault: undefined, waiting: 0 })
})
