// Times aba, rnea and crba of a URDF at the state on standard input (q v tau); prints "name µs" lines, best of several.
#include <chrono>
#include <cstdio>
#include <functional>
#include <iostream>

#include "pinocchio/algorithm/aba.hpp"
#include "pinocchio/algorithm/crba.hpp"
#include "pinocchio/algorithm/rnea.hpp"
#include "pinocchio/multibody/joint/joint-free-flyer.hpp"
#include "pinocchio/parsers/urdf.hpp"

static void measure(const char *name, const std::function<void()> &call) {
    double best = 1e9;
    const int repetitions = 2000;
    for (int round = 0; round < 20; ++round) {
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < repetitions; ++i) call();
        const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - start;
        best = std::min(best, taken.count() / repetitions);
    }
    std::printf("%s %.6f\n", name, best);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    pinocchio::Model model;
    if (argv[2][0] == '1')
        pinocchio::urdf::buildModel(argv[1], pinocchio::JointModelFreeFlyer(), model);
    else
        pinocchio::urdf::buildModel(argv[1], model);
    pinocchio::Data data(model);
    Eigen::VectorXd q(model.nq), v(model.nv), tau(model.nv);
    for (int i = 0; i < model.nq; ++i) std::cin >> q[i];
    for (int i = 0; i < model.nv; ++i) std::cin >> v[i];
    for (int i = 0; i < model.nv; ++i) std::cin >> tau[i];
    measure("aba", [&] { pinocchio::aba(model, data, q, v, tau); });
    measure("rnea", [&] { pinocchio::rnea(model, data, q, v, tau); });
    measure("crba", [&] { pinocchio::crba(model, data, q); });
    return 0;
}
