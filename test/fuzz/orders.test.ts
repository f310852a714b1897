import { testOrders } from './orders.ts'

testOrders(40)
