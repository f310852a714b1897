import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { TestWorld } from '../testing/node.ts'
import type { Contacts } from './contacts.ts'

let world: TestWorld
let contacts: Contacts
let bob: string

beforeEach(async () => {
  world = new TestWorld()
  const pair = await world.pair()
  contacts = pair.alice.ctx.contacts
  bob = pair.bob.aid
})
afterEach(() => world[Symbol.asyncDispose]())

describe('a block that ends', () => {
  test('leaves nothing of an agent that has no petname', () => {
    contacts.remove('bob')
    contacts.block(bob, true)
    expect(contacts.list()).toMatchObject([{ aid: bob, petname: null, blocked: 1 }])
    expect(contacts.block(bob, false)).toMatchObject({ aid: bob, petname: null, blocked: 0 })
    expect(contacts.list()).toEqual([])
    expect(contacts.find(bob)).toBeUndefined()
  })

  test('leaves a contact with its petname', () => {
    contacts.block('bob', true)
    contacts.block('bob', false)
    expect(contacts.list()).toMatchObject([{ aid: bob, petname: 'bob', blocked: 0 }])
  })
})
