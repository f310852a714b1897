#!/usr/bin/env node
/**
 * A bridge with two devices that are not there, in the form of zigbee2mqtt: `bridge.mjs <broker> [lamp name]`. Its lamp gets no
 * brighter than 200, whatever is written, and the bridge tells what was written before the lamp has it, as real ones do.
 */
import mqtt from 'mqtt'

const BASE = 'zigbee2mqtt'
const [url, lampName = 'lamp', lampModel = 'LED1'] = process.argv.slice(2)
const state = { state: 'OFF', brightness: 100, effect: 'none' }
const sensor = { temperature: 21.5, contact: false, battery: 97 }

const devices = [
  { ieee_address: '0x00124b0000000000', friendly_name: 'Coordinator', type: 'Coordinator' },
  {
    ...{ ieee_address: '0x00124b0000000001', friendly_name: lampName, type: 'Router', supported: true },
    definition: {
      ...{ vendor: 'Lamps', model: lampModel },
      exposes: [
        {
          type: 'light',
          features: [
            { type: 'binary', property: 'state', access: 7, value_on: 'ON', value_off: 'OFF' },
            { type: 'numeric', property: 'brightness', access: 7, value_min: 0, value_max: 254 },
          ],
        },
        { type: 'enum', property: 'effect', access: 2, values: ['blink', 'none'] },
        { type: 'composite', property: 'colour', access: 7, features: [] },
      ],
    },
  },
  {
    ...{
      ieee_address: '0x00124b0000000002',
      friendly_name: 'hall/sensor',
      type: 'EndDevice',
      supported: true,
    },
    definition: {
      ...{ vendor: 'Sensors', model: 'T1' },
      exposes: [
        { type: 'numeric', property: 'temperature', access: 1, unit: '°C' },
        { type: 'binary', property: 'contact', access: 1, value_on: false, value_off: true },
      ],
    },
  },
]

const client = mqtt.connect(url, {
  reconnectPeriod: 500,
  will: { topic: `${BASE}/bridge/state`, payload: '{"state":"offline"}', retain: true },
})
const tell = (topic, value, retain = false) =>
  client.publish(`${BASE}/${topic}`, JSON.stringify(value), { retain })

client.on('error', () => {})
client.on('connect', () => {
  client.subscribe([`${BASE}/${lampName}/set`, `${BASE}/${lampName}/get`])
  tell('bridge/devices', devices, true)
  tell('bridge/state', { state: 'online' }, true)
  tell('hall/sensor', sensor, true)
})
client.on('message', (topic, payload) => {
  const members = JSON.parse(String(payload))
  if (topic.endsWith('/get')) return tell(lampName, state)
  Object.assign(state, members)
  tell(lampName, state)
  state.brightness = Math.min(state.brightness, 200)
})
