module.exports = { named: () => 'named', later: async (n) => n };
